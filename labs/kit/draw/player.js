// Turns every player on the page that is not yet running into one: buttons, slider, number box and keys show a frame.
document.querySelectorAll('.labs-player:not(.labs-on)').forEach(function (player) {
  var frames = [].slice.call(player.querySelectorAll('figure'));
  var last = frames.length - 1;
  var at = 0;
  var timer = 0;
  var find = function (selector) { return player.querySelector(selector); };
  var slider = find('[type=range]');
  var box = find('[type=number]');
  var say = find('.labs-say');
  var go = find('[data-do=play]');
  var rows = player.querySelectorAll('tr[data-step]');
  var calm = window.matchMedia('(prefers-reduced-motion:reduce)').matches;

  function show(step) {
    at = Math.max(0, Math.min(last, Math.round(+step) || 0));
    frames.forEach(function (frame, i) { frame.classList.toggle('labs-now', i === at); });
    slider.value = at;
    box.value = at;
    slider.setAttribute('aria-valuetext', 'Step ' + at + ' of ' + last);
    var text = 'Step ' + at + ' of ' + last + ': ' + frames[at].getAttribute('data-say');
    if (say.textContent !== text) say.textContent = text;
    rows.forEach(function (row) {
      var current = +row.getAttribute('data-step') === at;
      row.classList.toggle('labs-current', current);
      if (current) row.setAttribute('aria-current', 'step'); else row.removeAttribute('aria-current');
    });
    find('[data-do=back]').setAttribute('aria-disabled', at === 0);
    find('[data-do=next]').setAttribute('aria-disabled', at === last);
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    go.textContent = 'Play';
    say.setAttribute('aria-live', 'polite');
  }
  function play() {
    if (timer) return stop();
    if (at === last) show(0);
    say.setAttribute('aria-live', 'off');
    go.textContent = 'Pause';
    timer = setInterval(function () {
      if (!player.isConnected || at >= last) return stop();
      if (at === last - 1) stop();
      show(at + 1);
    }, calm ? 2500 : 1200);
  }
  player.addEventListener('click', function (event) {
    var button = event.target.closest('[data-do]');
    if (!button) return;
    var what = button.getAttribute('data-do');
    if (what === 'play') return play();
    stop();
    show(what === 'back' ? at - 1 : at + 1);
  });
  slider.addEventListener('input', function () { stop(); show(slider.value); });
  box.addEventListener('change', function () { stop(); show(box.value); });
  player.addEventListener('keydown', function (event) {
    event.stopPropagation();
    if (event.target.matches('input,summary,.labs-table') || event.altKey || event.ctrlKey || event.metaKey) return;
    var to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    stop();
    show(to);
  });
  player.classList.add('labs-on');
  show(0);
});
