// Adds a passkey, or signs in with one. What the authenticator answers goes into the form beside it, which is then sent
// like any other.

const SENTENCES = {
  NotAllowedError: 'No passkey was used. Try again when you are ready.',
  InvalidStateError: 'This device has a passkey for your account already.',
  SecurityError: 'Passkeys do not work at this address.',
};

/** What a browser says of its troubles is not for everyone to read. */
const UNKNOWN = 'That did not work. Reload the page and try again.';

const isAble = Boolean(window.PublicKeyCredential?.parseCreationOptionsFromJSON);

for (const hint of document.querySelectorAll('[data-without-passkeys]')) hint.hidden = isAble;

for (const box of document.querySelectorAll('[data-passkey]')) {
  if (!isAble) break;
  box.hidden = false;
  const form = box.querySelector('form');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const [button, problem] = [form.querySelector('button'), box.querySelector('[role=alert]')];
    button.disabled = true;
    problem.textContent = '';
    try {
      await sendPasskey(form, box.dataset.passkey);
    } catch (error) {
      problem.textContent = error.sentence ?? SENTENCES[error.name] ?? UNKNOWN;
      button.disabled = false;
    }
  });
}

async function sendPasskey(form, act) {
  const options = await askOptions(form);
  const credential =
    act === 'create'
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  const field = document.createElement('input');
  Object.assign(field, { type: 'hidden', name: 'credential', value: JSON.stringify(credential) });
  form.append(field);
  form.submit();
}

async function askOptions(form) {
  const response = await fetch(`${form.action}/options`, {
    method: 'POST',
    body: new URLSearchParams(new FormData(form)),
  });
  const answer = await response.json().catch(() => ({}));
  if (answer.challenge) return answer;
  throw Object.assign(new Error('No options'), { sentence: answer.problem });
}
