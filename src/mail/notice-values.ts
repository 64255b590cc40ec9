type Values = Record<string, string>;

/** Version 0.1.0 stored English words where there are codes now. A notice is kept for 90 days. */
export function readNoticeValues(kind: string, values: Values): Values {
  return UPGRADES[kind]?.(values) ?? values;
}

const RESET_METHODS: Values = {
  'on your account page': 'account_page',
  'by an operator': 'by_operator',
  'with a link that an owner of your business created': 'user',
  'with a link that a platform admin created': 'platform',
  'with a link that an operator created': 'operator',
  'with a link that was mailed to you': 'mail',
};
const AND_REMOVED = ', and two-step sign-in was removed';

const REASONS: Values = {
  'someone who may change the app switched it off': 'by_owner',
  'it failed for days': 'failing',
  'it responded with 410 Gone': 'gone',
};

/** Undefined for values of this version. */
const UPGRADES: Record<string, (values: Values) => Values | undefined> = {
  new_sign_in: ({ browser = '', address = '', system }) => {
    if (system !== undefined) return undefined;
    const [name = '', on = ''] = browser.split(' on ');
    return { browser: name, system: on, address };
  },
  factor_added: ({ what }) => (what === undefined ? undefined : { passkey: passkeyIn(what) }),
  factor_removed: ({ what, by }) => {
    if (what === undefined) return undefined;
    const passkey = passkeyIn(what);
    const factor = what === 'Every passkey' ? 'all_passkeys' : 'app';
    return { factor: passkey ? 'passkey' : factor, passkey, by: by === 'you' ? 'user' : 'operator' };
  },
  password_changed: ({ how = '', two_step }) => {
    if (two_step !== undefined) return undefined;
    const isRemoved = how.endsWith(AND_REMOVED);
    const method = RESET_METHODS[isRemoved ? how.slice(0, -AND_REMOVED.length) : how] ?? 'account_page';
    return { how: method, two_step: isRemoved ? 'removed' : 'kept' };
  },
  endpoint_disabled: ({ why = '', ...values }) => {
    const reason = REASONS[why];
    return reason ? { ...values, why: reason } : undefined;
  },
};

function passkeyIn(what: string): string {
  return /^The passkey (.*)$/s.exec(what)?.[1] ?? '';
}
