// Starts Scalar on the page of the API reference. The page has a content security policy as strict as the others: no
// inline script or style, no other host.

allowStyles(document.querySelector('meta[property=csp-nonce]').content);
const place = document.getElementById('reference');
const [response] = await Promise.all([fetch('/openapi.json'), loadScript(place.dataset.script)]);
const description = addErrorLinks(await response.json());

new MutationObserver(repairAccessibility).observe(document.body, { childList: true, subtree: true });
Scalar.createApiReference(place, {
  content: description,
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  hideTestRequestButton: true,
  hideDarkModeToggle: true,
  forceDarkModeState: matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light',
  showDeveloperTools: 'never',
  persistAuth: false,
  documentDownloadType: 'none',
  modelsSectionLabel: 'Schemas',
  theme: 'none',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  generateOperationSlug: ({ operationId }) => operationId,
  generateModelSlug: ({ name }) => name,
  generateWebhookSlug: ({ name }) => name,
});
document.getElementById('without-script').remove();

/** The policy allows style elements with this nonce, and styles that are set as a property, but no style attribute. */
function allowStyles(nonce) {
  const { createElement } = Document.prototype;
  document.createElement = (name, options) => {
    const element = createElement.call(document, name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
  const { setAttribute } = Element.prototype;
  Element.prototype.setAttribute = function (name, value) {
    if (name === 'style') this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
  const innerHTML = Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML');
  Object.defineProperty(Element.prototype, 'innerHTML', {
    ...innerHTML,
    set(value) {
      innerHTML.set.call(this, String(value).replace(/(<\w[^<>]*?) style="/g, '$1 data-style="'));
      for (const element of this.querySelectorAll('[data-style]')) element.style.cssText = element.dataset.style;
    },
  });
}

function loadScript(src) {
  const script = Object.assign(document.createElement('script'), { src });
  return new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
}

/** Scalar shows descriptions, but not our extensions. A response's own description is inside a button, where no link can be. */
function addErrorLinks(document) {
  for (const operation of Object.values(document.paths).flatMap(Object.values)) {
    const lists = [...listReasons(operation), ...listCallbackErrors(operation)];
    if (lists.length === 0) continue;
    const details = `<details><summary>Error reasons</summary>\n\n${lists.join('\n')}\n\n</details>`;
    operation.description = `${operation.description ?? ''}\n\n${details}`;
  }
  return document;
}

function listReasons({ responses }) {
  return Object.entries(responses).flatMap(([status, { content }]) => {
    const reasons = Object.entries(content?.['application/json']?.['x-reasons'] ?? {});
    const links = reasons.flatMap(([code, names]) => names.map((name) => `[${name}](/docs/errors/${code}#${name})`));
    return links.length > 0 ? [`- ${status}: ${links.join(', ')}`] : [];
  });
}

function listCallbackErrors({ 'x-callback-errors': codes = [] }) {
  const links = codes.map((code) => `[${code}](/docs/errors/${code})`);
  return links.length > 0 ? [`- At the callback: ${links.join(', ')}`] : [];
}

/** What axe finds in Scalar 1.72, and what to set instead. */
function repairAccessibility() {
  const repair = (selector, properties) => {
    for (const element of document.querySelectorAll(selector)) Object.assign(element, properties);
  };
  repair('.scalar-code-copy:not([aria-label])', { ariaLabel: 'Copy' });
  repair('.endpoints:not([tabindex])', { tabIndex: 0 });
  repair('.response-card[role=region]', { role: 'group' });
  repair('.t-doc__header:not([role])', { role: 'navigation', ariaLabel: 'Current section' });
  repair('.t-doc__header > header:not([role])', { role: 'none' });
  repair('[id^=headlessui-popover-panel]:not([role])', { role: 'dialog', ariaLabel: 'Menu' });
  repair('input[role=combobox]:not([aria-expanded])', { ariaExpanded: 'true' });
  repair('input[role=combobox]:not([aria-label])', { ariaLabel: 'Find a language' });
  repair('[data-headlessui-focus-guard][aria-hidden]', { ariaHidden: null, ariaLabel: 'Close the menu' });
  for (const button of document.querySelectorAll('button.show-more[aria-label]')) {
    const text = button.textContent.trim();
    if (!button.ariaLabel.startsWith(text)) button.ariaLabel = `${text}: ${button.ariaLabel}`;
  }
}
