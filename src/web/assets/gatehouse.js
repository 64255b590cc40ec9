// Every page works without this. It shows times in the reader's own zone, copies what is to be copied, keeps what says
// `data-live` up to date, and delays what says `data-delayed`.

for (const time of document.querySelectorAll('time[datetime]')) localise(time);

function localise(time) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.valueOf())) return;
  time.title = time.textContent;
  time.textContent = at.toLocaleString(undefined, {
    dateStyle: 'medium',
    timeStyle: time.dataset.precise ? 'medium' : 'short',
  });
}

for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
}

// Parts of the page, fetched anew every few seconds while someone is looking. What is in use stays as it is.
const live = [...document.querySelectorAll('[data-live]')];
if (live.length > 0) setInterval(refresh, 3000);

async function refresh() {
  if (document.hidden || live.every(isInUse)) return;
  const response = await fetch(location.href, { headers: { accept: 'text/html' } }).catch(() => undefined);
  if (!response?.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const part of live) {
    const fresh = page.getElementById(part.id);
    if (!fresh || isInUse(part)) continue;
    for (const time of fresh.querySelectorAll('time[datetime]')) localise(time);
    part.replaceChildren(...fresh.childNodes);
  }
}

function isInUse(part) {
  return part.contains(document.activeElement) || part.querySelector('details[open]') !== null;
}

// Another page can close itself between the two clicks of a double click, so that the second one lands here. So a delayed
// button does nothing for half a second after the page appears, or appears again.
for (const button of document.querySelectorAll('button[data-delayed]')) {
  let timer;
  const delay = () => {
    button.setAttribute('aria-disabled', 'true');
    clearTimeout(timer);
    timer = setTimeout(() => button.removeAttribute('aria-disabled'), 500);
  };
  delay();
  addEventListener('focus', delay);
  document.addEventListener('visibilitychange', delay);
  button.addEventListener('click', (event) => {
    if (button.hasAttribute('aria-disabled')) event.preventDefault();
  });
}
