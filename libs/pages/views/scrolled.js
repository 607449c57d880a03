// What scrolls by itself is a stop of the keyboard for as long as it does; without this script it always is one.

const watched = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
    if (scrolls) target.setAttribute('tabindex', '0');
    else target.removeAttribute('tabindex');
  }
});

function watchAll() {
  for (const element of document.querySelectorAll('.scrolled')) watched.observe(element);
}

watchAll();
document.addEventListener('shown', watchAll);
