// Adds a passkey, or signs in with one. The response of the authenticator is submitted with the form.

/** The message of the page for an error, instead of the browser's own, which is technical. */
const MESSAGES = {
  NotAllowedError: 'notUsed',
  InvalidStateError: 'alreadyHere',
  SecurityError: 'notAtThisAddress',
};

const isSupported = Boolean(window.PublicKeyCredential?.parseCreationOptionsFromJSON);

for (const hint of document.querySelectorAll('[data-without-passkeys]')) hint.hidden = isSupported;

for (const box of document.querySelectorAll('[data-passkey]')) {
  if (!isSupported) break;
  box.hidden = false;
  const form = box.querySelector('form');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const [button, problem] = [form.querySelector('button'), box.querySelector('[role=alert]')];
    button.disabled = true;
    problem.textContent = '';
    try {
      await sendPasskey(form, box.dataset);
    } catch (error) {
      problem.textContent = error.sentence ?? box.dataset[MESSAGES[error.name] ?? 'failed'];
      button.disabled = false;
    }
  });
}

async function sendPasskey(form, { passkey: method, options: address = `${form.action}/options` }) {
  const options = await fetchOptions(form, address);
  const credential =
    method === 'create'
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  const field = document.createElement('input');
  Object.assign(field, { type: 'hidden', name: 'credential', value: JSON.stringify(credential) });
  form.append(field);
  form.submit();
}

async function fetchOptions(form, address) {
  const response = await fetch(address, {
    method: 'POST',
    body: new URLSearchParams(new FormData(form)),
  });
  const options = await response.json().catch(() => ({}));
  if (options.challenge) return options;
  throw Object.assign(new Error('No options'), { sentence: options.problem });
}
