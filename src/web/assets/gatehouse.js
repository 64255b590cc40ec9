// Every page works without this script. It shows times in the local time zone and dates as the reader writes them, makes
// the copy buttons work, refreshes `data-live` elements, shows the numbers of a bar in a chart, shows passwords, ticks
// groups of checkboxes, adds rows of fields, and delays `data-delayed` buttons.

const TIME_FORMATS = {
  no: { dateStyle: 'medium', timeStyle: 'short' },
  yes: { dateStyle: 'medium', timeStyle: 'medium' },
  short: { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', second: '2-digit' },
  // A date without a time is the same in every zone.
  day: { dateStyle: 'medium', timeZone: 'UTC' },
};

const TIMES = 'time[datetime*="T"], time[data-precise="day"]';
for (const time of document.querySelectorAll(TIMES)) localise(time);

function localise(time) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.valueOf())) return;
  if (time.dataset.precise !== 'day') time.title = time.textContent;
  time.textContent = at.toLocaleString(pageLocale(), TIME_FORMATS[time.dataset.precise ?? 'no']);
}

/** The reader's own, unless the page is in another language. */
function pageLocale() {
  const { lang } = document.documentElement;
  return navigator.language.split('-')[0] === lang.split('-')[0] ? undefined : lang;
}

const COPY_BUTTONS = 'button[data-copy], button[data-copy-value]';
for (const button of document.querySelectorAll(COPY_BUTTONS)) button.hidden = false;

// On the document, since `data-live` elements get new buttons.
document.addEventListener('click', async ({ target }) => {
  const button = target.closest?.(COPY_BUTTONS);
  if (!button) return;
  const { copy, copyValue } = button.dataset;
  await navigator.clipboard.writeText(copyValue ?? document.getElementById(copy).textContent.trim());
  if (button.dataset.copied) return;
  // An icon has no text, and gets another name instead.
  const part = button.textContent ? 'textContent' : 'ariaLabel';
  const before = button[part];
  button.dataset.copied = 'yes';
  button[part] = 'Copied';
  setTimeout(() => {
    delete button.dataset.copied;
    button[part] = before;
  }, 2000);
});

// Fetched again every few seconds while the page is visible. An element that has the focus, selected text or open
// details is left alone; details with an id stay as they are. A chart is fetched at once: the server draws it in UTC until
// it knows the time zone.
const live = [...document.querySelectorAll('[data-live]')];
const headers = { accept: 'text/html', 'x-time-zone': Intl.DateTimeFormat().resolvedOptions().timeZone };
if (live.length > 0) setInterval(refresh, 3000);
if (document.querySelector('[data-live] .chart')) refresh();

async function refresh() {
  if (document.hidden || live.every(isInUse)) return;
  const response = await fetch(location.href, { headers }).catch(() => undefined);
  if (!response?.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const element of live) {
    const fresh = page.getElementById(element.id);
    if (!fresh) element.remove();
    if (!fresh || isInUse(element)) continue;
    for (const time of fresh.querySelectorAll(TIMES)) localise(time);
    for (const button of fresh.querySelectorAll(COPY_BUTTONS)) button.hidden = false;
    for (const each of element.querySelectorAll('details[id]')) {
      page.getElementById(each.id)?.toggleAttribute('open', each.open);
    }
    element.replaceChildren(...fresh.childNodes);
  }
}

function isInUse(element) {
  if (!element.isConnected) return true;
  const selection = getSelection();
  if (!selection.isCollapsed && selection.containsNode(element, true)) return true;
  const isOpen = element.querySelector('details[open]:not([id]), .bar:hover') !== null;
  return isOpen || element.contains(document.activeElement);
}

// Instead of the browser's tooltip of a bar, which appears late, and not on touch screens.
const tip = Object.assign(document.createElement('p'), { className: 'chart-tip', hidden: true });
document.addEventListener('pointerover', ({ target }) => {
  const bar = target.closest?.('.chart .bar');
  tip.hidden = !bar;
  if (!bar) return;
  bar.dataset.tip ??= bar.querySelector('title').textContent;
  bar.querySelector('title')?.remove();
  tip.textContent = bar.dataset.tip;
  const plot = bar.closest('.plot');
  plot.append(tip);
  const { left, width } = bar.getBoundingClientRect();
  const around = plot.getBoundingClientRect();
  const middle = left + width / 2 - around.left - tip.offsetWidth / 2;
  tip.style.left = `${Math.max(0, Math.min(middle, around.width - tip.offsetWidth))}px`;
});

for (const button of document.querySelectorAll('button[data-show]')) {
  const input = document.getElementById(button.dataset.show);
  const show = (isShown) => {
    input.type = isShown ? 'text' : 'password';
    button.setAttribute('aria-pressed', String(isShown));
  };
  // Some browsers send what they check to a server.
  input.spellcheck = false;
  input.autocapitalize = 'off';
  button.hidden = false;
  button.addEventListener('click', () => show(input.type === 'password'));
  // Browsers remember what was typed as text.
  input.form.addEventListener('submit', () => show(false));
}

// Ticks or clears all checkboxes of a group.
for (const button of document.querySelectorAll('button[data-choose]')) {
  button.hidden = false;
  button.addEventListener('click', () => {
    for (const box of button.closest('[role="group"]').querySelectorAll('input[type="checkbox"]')) {
      box.checked = button.dataset.choose === 'all';
    }
  });
}

// Keeps one of the empty rows at the end of a list of fields. The button adds another.
for (const button of document.querySelectorAll('button[data-add-row]')) {
  const list = button.parentElement.querySelector('[data-rows]');
  const rows = [...list.children];
  const filled = rows.findLastIndex((row) => row.querySelector('input').value !== '');
  for (const row of rows.slice(filled + 2)) row.remove();
  const update = () => {
    button.hidden = list.children.length >= Number(list.dataset.rows);
  };
  update();
  button.addEventListener('click', () => {
    const number = list.children.length + 1;
    const row = list.lastElementChild.cloneNode(true);
    const input = row.querySelector('input');
    row.replaceChildren(input);
    Object.assign(input, {
      value: '',
      id: `${input.name}-${number}`,
      ariaLabel: input.ariaLabel.replace(/\d+$/, number),
    });
    for (const name of ['value', 'aria-invalid', 'aria-describedby']) input.removeAttribute(name);
    list.append(row);
    input.focus();
    update();
  });
}

// Against clickjacking: a page that closes itself during a double click lets the second click land here. A delayed button
// does nothing for half a second after the page becomes visible.
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
