// Keeps the list up to date without a reload. The page works without this file.

const intervalMs = 3000;
/** An unused page must not keep a session alive. */
const restAfterMs = 10 * 60_000;

let lastUse = Date.now();
for (const name of ['pointerdown', 'pointermove', 'keydown', 'visibilitychange', 'focus']) {
  addEventListener(name, () => (lastUse = Date.now()), { passive: true });
}

async function refresh() {
  if (document.visibilityState === 'visible' && Date.now() - lastUse < restAfterMs) {
    try {
      const answer = await fetch(address(), { headers: { accept: 'text/html' }, cache: 'no-store' });
      if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), 'text/html'));
    } catch {
      // The network is down; try again at the next interval.
    }
  }
  setTimeout(refresh, intervalMs);
}

/** The request that one reads is named, so that no other comes with buttons beside it. */
function address() {
  const read = document.querySelector('#waiting > li:has(form)')?.id.slice('request-'.length);
  return location.pathname + (read === undefined ? '' : `?${new URLSearchParams({ request: read })}`);
}

/**
 * Adds new requests and removes ended ones; the others stay untouched, so that nothing moves under a finger.
 * @param {Document} page what the server answered
 */
function show(page) {
  const [list, summary] = [document.getElementById('waiting'), document.getElementById('summary')];
  const [freshList, freshSummary] = [page.getElementById('waiting'), page.getElementById('summary')];
  if (list === null || summary === null) return;
  // The session ended, or the password must be confirmed.
  if (freshList === null || freshSummary === null) {
    location.reload();
    return;
  }
  for (const item of list.querySelectorAll(':scope > li')) {
    if (page.getElementById(item.id) === null) item.remove();
  }
  for (const item of freshList.querySelectorAll(':scope > li')) {
    if (document.getElementById(item.id) === null) list.append(document.adoptNode(item));
  }
  if (summary.textContent !== freshSummary.textContent) summary.textContent = freshSummary.textContent;
}

setTimeout(refresh, intervalMs);
