// ipywidgets gives a slider's handle no accessible name, and its HTML no live region: this adds both where they are.
var tries = 0;
function name() {
  document.querySelectorAll('.labs-explorer').forEach(function (root) {
    root.setAttribute('data-lm-suppress-shortcuts', 'true');
    root.setAttribute('role', 'group');
    var title = root.querySelector('.labs-explorer-title');
    if (title) root.setAttribute('aria-label', title.textContent);
    root.querySelectorAll('.labs-explorer-row').forEach(function (row) {
      var label = row.querySelector('.widget-label');
      row.querySelectorAll('.noUi-handle').forEach(function (handle) {
        if (label) handle.setAttribute('aria-label', label.textContent);
      });
    });
    root.querySelectorAll('.labs-explorer-say').forEach(function (say) {
      say.setAttribute('role', 'status');
      say.setAttribute('aria-live', 'polite');
    });
  });
  if (++tries < 40) setTimeout(name, 250);
}
name();
