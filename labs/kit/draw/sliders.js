// ipywidgets gives a slider's handle no accessible name, and its HTML no live region: this adds both where they are.
// JupyterLab draws a widget again when its cell comes back into view, so the page is watched for as long as it is open.
var timer = 0;
function name() {
  document.querySelectorAll('.labs-explorer').forEach(function (root) {
    root.setAttribute('data-lm-suppress-shortcuts', 'true');
    root.setAttribute('role', 'group');
    var title = root.querySelector('.labs-explorer-title');
    if (title) root.setAttribute('aria-label', title.textContent);
    root.querySelectorAll('.labs-explorer-row').forEach(function (row) {
      // A slider without a description of its own has an empty label; the number box beside it has the words.
      var labels = [].slice.call(row.querySelectorAll('.widget-label'));
      var label = labels.filter(function (each) { return each.textContent.trim(); })[0] || title;
      row.querySelectorAll('.noUi-handle').forEach(function (handle) {
        if (label) handle.setAttribute('aria-label', label.textContent);
      });
    });
    root.querySelectorAll('.labs-explorer-say').forEach(function (say) {
      say.setAttribute('role', 'status');
      say.setAttribute('aria-live', 'polite');
    });
  });
}
function soon() {
  if (!timer) timer = setTimeout(function () { timer = 0; name(); }, 250);
}
if (!window.labsSlidersAreWatched) {
  window.labsSlidersAreWatched = true;
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
}
name();
