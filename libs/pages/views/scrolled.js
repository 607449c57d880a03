// Makes what scrolls by itself a stop of the keyboard for as long as it does. Browsers that do so themselves need no
// script; others would leave the end of a wide table to those who have a pointer.

const watched = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
    if (scrolls) target.setAttribute('tabindex', '0');
    else target.removeAttribute('tabindex');
  }
});
for (const element of document.querySelectorAll('.scrolled')) watched.observe(element);
