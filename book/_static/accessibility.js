/* What the theme gets wrong or cannot know: names that differ from the visible text, a region without a name, empty
   headers of tables, where the focus goes when a menu closes, and which boxes scroll, so that the keyboard stops at those and at no others. */
(function () {
  "use strict";

  function names() {
    document.querySelectorAll("summary[aria-label]").forEach(function (summary) {
      summary.removeAttribute("aria-label");
    });
    document.querySelectorAll(".search-button__button[aria-label]").forEach(function (button) {
      button.removeAttribute("aria-label");
      if (!button.textContent.trim()) button.setAttribute("aria-label", "Search");
    });
    document.querySelectorAll(".theme-switch-button").forEach(function (button) {
      button.setAttribute("aria-label", "Color mode: Light Dark System Settings");
      button.querySelectorAll("[data-mode]").forEach(function (icon) {
        icon.setAttribute("aria-hidden", "true");
        icon.removeAttribute("title");
      });
    });
    var logo = document.querySelector(".navbar-brand");
    var side = logo && logo.closest(".sidebar-primary-item");
    if (side) {
      side.setAttribute("role", "region");
      side.setAttribute("aria-label", "Book");
    }
  }

  /* A menu that closes leaves the focus nowhere; it belongs to the button that opened it. */
  var opener = null;
  document.addEventListener("click", function (event) {
    opener = (event.target.closest && event.target.closest(".sidebar-toggle, .search-button__button")) || opener;
  }, true);
  document.addEventListener("close", function () {
    setTimeout(function () {
      if (opener && document.activeElement === document.body) opener.focus();
    }, 0);
  }, true); /* does not bubble */

  /* Markdown makes every cell of the first row a header, also an empty corner; the column below it names the rows. */
  function corners() {
    document.querySelectorAll("table.table > thead th:first-child").forEach(function (head) {
      if (head.textContent.trim()) return;
      var corner = document.createElement("td");
      corner.className = head.className;
      head.closest("table").querySelectorAll("tbody > tr > td:first-child").forEach(function (cell) {
        cell.setAttribute("role", "rowheader");
      });
      head.replaceWith(corner);
    });
  }

  /* The theme does this for a part of the boxes and not when an answer is unfolded; what it has set is set again. */
  var BOXES = ".bd-article pre, .cell_output > .output, .pst-scrollable-table-container, mjx-container[display], " +
    ".labs-picture, .labs-table, .lx-code, .lk-picture";
  function stops() {
    document.querySelectorAll(BOXES).forEach(function (box) {
      var style = getComputedStyle(box);
      var wide = box.scrollWidth > box.clientWidth && style.overflowX !== "visible";
      var high = box.scrollHeight > box.clientHeight && style.overflowY !== "visible";
      if (wide || high) box.tabIndex = 0;
      else if (box !== document.activeElement) box.removeAttribute("tabindex");
    });
  }
  var timer = 0;
  function soon() {
    clearTimeout(timer);
    timer = setTimeout(stops, 400); /* the theme waits 300 ms after a change */
  }

  document.addEventListener("DOMContentLoaded", function () {
    names();
    corners();
    soon();
    var main = document.getElementById("main-content");
    if (main) new MutationObserver(soon).observe(main, { subtree: true, childList: true });
    window.addEventListener("resize", soon);
    document.addEventListener("toggle", stops, true); /* does not bubble */
  });
})();
