// Marks the instructions of the source line that is pointed at or has the focus, and the line of an instruction.
document.querySelectorAll('.lx:not(.lx-live)').forEach(function (box) {
  var fixed = '';
  function mark(line) {
    box.querySelectorAll('.lx-on').forEach(function (row) { row.classList.remove('lx-on'); });
    if (!line) return;
    box.querySelectorAll('[data-line="' + line + '"],[data-from="' + line + '"]').forEach(function (row) { row.classList.add('lx-on'); });
    box.querySelectorAll('details[data-lines]').forEach(function (fold) {
      if (!fold.open && fold.getAttribute('data-lines').split(' ').indexOf(line) >= 0) fold.firstChild.classList.add('lx-on');
    });
  }
  function line(target) {
    var row = target.closest && target.closest('[data-line],[data-from]');
    return row ? row.getAttribute('data-line') || row.getAttribute('data-from') : '';
  }
  function reveal(wanted) {
    var first = box.querySelector('[data-from="' + wanted + '"],details[data-lines~="' + wanted + '"]');
    if (!first) return;
    var pane = first.closest('.lx-code');
    pane.scrollTop += first.getBoundingClientRect().top - pane.getBoundingClientRect().top - 60;
  }
  box.addEventListener('mouseover', function (event) { mark(line(event.target) || fixed); });
  box.addEventListener('mouseleave', function () { mark(fixed); });
  box.addEventListener('focusin', function (event) { fixed = line(event.target); mark(fixed); });
  box.addEventListener('click', function (event) {
    var row = event.target.closest('[data-line]');
    if (!row) return;
    fixed = row.getAttribute('data-line');
    mark(fixed);
    reveal(fixed);
  });
  box.addEventListener('keydown', function (event) {
    event.stopPropagation();
    var row = event.target.closest('[data-line]');
    if (!row || (event.key !== 'Enter' && event.key !== ' ')) return;
    event.preventDefault();
    reveal(row.getAttribute('data-line'));
  });
  box.classList.add('lx-live');
});
