// Every page works without this. It shows times in the reader's own zone, copies what is to be copied, and keeps a list
// that says `data-live` up to date.

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

// On a phone the menu is wider than the screen.
document.querySelector('.bar nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });

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

// A part of the page, fetched anew every few seconds while someone is looking.
for (const part of document.querySelectorAll('[data-live]')) {
  setInterval(async () => {
    if (document.hidden || part.contains(document.activeElement)) return;
    const response = await fetch(location.href, { headers: { accept: 'text/html' } }).catch(() => undefined);
    if (!response?.ok || response.redirected) return;
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html').getElementById(part.id);
    if (!fresh) return;
    for (const time of fresh.querySelectorAll('time[datetime]')) localise(time);
    part.replaceChildren(...fresh.childNodes);
  }, 3000);
}
