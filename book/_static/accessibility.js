/* Names that the theme gets wrong: labels that differ from the visible text, and a region without a name. */
document.addEventListener("DOMContentLoaded", function () {
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
});
