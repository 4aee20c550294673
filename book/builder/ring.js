// Pause and play, and a round at a time. All parts share one clock: the animations' current time.
(function () {
  var ring = document.querySelector('.ring');
  var play = ring.querySelector('[data-do=play]');
  var say = ring.querySelector('.ring-say');
  var steps = JSON.parse(ring.getAttribute('data-steps'));
  var calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches;

  function all() { return ring.getAnimations({ subtree: true }); }
  function length() { return parseFloat(ring.style.getPropertyValue('--ring-time')) * 1000; }
  function now() { var first = all()[0]; return first ? (first.currentTime || 0) % length() : 0; }
  function move(on) {
    ring.setAttribute('data-moving', on ? 'yes' : 'no');
    play.textContent = on ? 'Pause' : 'Play';
    if (on) say.textContent = '';
  }
  function at(milliseconds) { all().forEach(function (one) { one.currentTime = milliseconds; }); }

  play.addEventListener('click', function () { move(ring.getAttribute('data-moving') !== 'yes'); });
  ring.querySelector('[data-do=step]').addEventListener('click', function () {
    var here = now();
    var next = steps.filter(function (step) { return step[0] * 1000 > here + 1; })[0] || steps[0];
    move(false);
    at(next[0] * 1000);
    say.textContent = next[1];
  });
  ring.querySelector('.ring-bar').hidden = false;
  move(!calm);
  if (calm) { at(0); say.textContent = steps[0][1]; }
})();
