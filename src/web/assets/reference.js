// Starts Scalar on the page of the API reference. The page has a content security policy as strict as the others: no
// inline script or style, no other host.

allowStyles(document.querySelector('meta[property=csp-nonce]').content);
const place = document.getElementById('reference');
const [response] = await Promise.all([fetch('/openapi.json'), loadScript(place.dataset.script)]);
const description = addErrorLinks(await response.json());

new MutationObserver(repairAccessibility).observe(place, { childList: true, subtree: true });
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

/** What axe finds in Scalar 1.72. */
function repairAccessibility() {
  for (const button of place.querySelectorAll('.scalar-code-copy:not([aria-label])')) button.ariaLabel = 'Copy';
  for (const list of place.querySelectorAll('.endpoints:not([tabindex])')) list.tabIndex = 0;
  for (const bar of place.querySelectorAll('.t-doc__header:not([role])')) {
    Object.assign(bar, { role: 'navigation', ariaLabel: 'Current section' });
    bar.querySelector('header').role = 'none';
  }
  for (const button of place.querySelectorAll('button.show-more[aria-label]')) {
    const text = button.textContent.trim();
    if (!button.ariaLabel.startsWith(text)) button.ariaLabel = `${text}: ${button.ariaLabel}`;
  }
}
