import { html } from '../lib/html.ts';
import { PROBLEMS } from '../lib/problems.ts';
import { quoteIn } from '../lib/quotes.ts';
import { createFormats } from './formats.ts';
import type {
  AddedFactor,
  Browser,
  CommonValues,
  Direction,
  EndpointEnd,
  ErrorText,
  FromDevice,
  InBusiness,
  Inline,
  MailText,
  NoticeText,
  OfApp,
  OfConnection,
  PasswordChange,
  RemovedFactor,
} from './texts.ts';

const formats = createFormats('en-GB');
const quote = quoteIn('“”');

const scopes = {
  'read:invoices': 'View invoices, line items and payment status',
  'write:invoices': 'Create, update and send invoices',
  'read:contacts': 'View CRM contacts and companies',
  'write:contacts': 'Create and update contacts',
  'read:deals': 'View CRM deals and pipeline',
  'write:deals': 'Create deals and change stages',
  'read:expenses': 'View expense claims and categories',
  'read:reports': 'View financial reports and analytics',
  'read:employees': 'View employee records (HR module)',
  'read:orders': 'View ecommerce orders and fulfilment',
};

/** What follows the colon in the name of a scope. */
type ResourceName = keyof typeof scopes extends infer Name
  ? Name extends `${string}:${infer Rest}`
    ? Rest
    : never
  : never;

function nameOf({ browser, system }: Browser): string {
  return `${browser || 'an unknown browser'}${system && ` on ${system}`}`;
}

const LINK_WORKS_ONCE = 'The link works once, within 30 minutes. A newer link replaces it.';
const IGNORE_ADDRESS_LINK =
  'If this was not you, ignore this email. The link does nothing for anyone who is not signed in to that account.';
const NOT_YOU =
  'If this was not you, change your password and sign out everywhere else on your account page. Check your passkeys and your authenticator app there, too.';

/** Every text of the hosted pages and of mails. Another language is a file like this one, listed in languages.ts. */
export const en = {
  /** A language tag (RFC 5646). */
  tag: 'en',
  /** In the language itself. */
  name: 'English',
  direction: 'ltr' as Direction,
  formats,
  problems: PROBLEMS,
  scopes,
  resources: {
    invoices: 'Invoices',
    contacts: 'Contacts',
    deals: 'Deals',
    expenses: 'Expenses',
    reports: 'Reports',
    employees: 'Employees',
    orders: 'Orders',
  } satisfies Record<ResourceName, string>,
  roles: {
    owner: {
      name: 'Owner',
      meaning: 'Can do everything an admin can, invite and remove people, and see the audit log.',
    },
    admin: {
      name: 'Admin',
      meaning: 'Can do everything a member can, and register and change the apps of the business.',
    },
    member: { name: 'Member', meaning: 'Can connect apps to the business.' },
  },
  layout: { skip: 'Skip to content', currentBusiness: 'Current business' },
  fields: {
    email: 'Email',
    password: 'Password',
    newPassword: 'New password',
    passwordHint: 'At least 8 characters.',
    showPassword: 'Show password',
    code: 'Code',
    codeHint: 'The six-digit code in your authenticator app.',
    recoveryCode: 'Recovery code',
    recoveryCodeHint: 'One of the codes that you saved when you set up two-step sign-in. Each works once.',
  },
  signIn: {
    title: 'Sign in',
    destination: (name: Inline) => html`to continue to ${name}`,
    submit: 'Sign in',
    forgot: 'Forgot your password?',
    anotherAccount: 'Use another account',
    /** One sentence for every cause: it does not reveal which accounts and passkeys exist. */
    wrongPassword: 'The email or password is wrong.',
    wrongPasskey: 'This passkey did not sign you in. Try again, or use your password.',
  },
  /** Messages that the sign-in page shows after a form was submitted. */
  signInMessages: {
    session_over: 'Your session has ended. Sign in to continue.',
    signed_out: 'You are signed out.',
    password_set: 'Your new password is set. Sign in with it.',
    password_mailed:
      'If there is an account with this address, an email with a link to set a new password is on its way. The link works for 30 minutes.',
    account_deleted: 'Your account is deleted.',
    invitation_mailed: 'An email with a new link to the invitation is on its way. The link works for 30 minutes.',
    second_step_required: 'Two-step sign-in is required. Sign in again and complete the second step.',
    sign_in_again: 'Your last sign-in was more than 15 minutes ago. Sign in again to make this change.',
  },
  signOut: {
    title: 'Sign out',
    question: 'Sign out?',
    appsStay: 'Apps that you have connected stay connected.',
    submit: 'Sign out',
  },
  passkeys: {
    useInstead: 'Use a passkey instead',
    notUsed: 'No passkey was used. You can try again.',
    alreadyHere: 'This device already has a passkey for your account.',
    notAtThisAddress: 'Passkeys cannot be used at this address.',
    failed: 'That did not work. Reload the page and try again.',
  },
  secondStep: {
    title: 'Two-step sign-in',
    account: (destination: Inline, email: Inline) => html`to continue to ${destination} as ${email}`,
    passkeyRequired: 'Your business requires a second step. Sign in with your passkey.',
    useRecoveryCode: 'Use a recovery code',
    lostPhone: (platform: Inline) =>
      html`Lost your phone? An owner of your business or a platform admin of ${platform} can give you a link to set a new password, which also removes the second step.`,
    lostPhoneAndCodes: (platform: Inline) =>
      html`Lost your phone and your recovery codes? An owner of your business or a platform admin of ${platform} can give you a link to set a new password, which also removes the second step.`,
  },
  forgottenPassword: {
    title: 'Forgot your password?',
    intro: 'Enter the email address that you sign in with. You will get an email with a link to set a new password.',
    submit: 'Send link',
    noMail: (platform: Inline) => html`${platform} does not send email. Ask for a one-time link to set a new password:`,
    askOwner:
      'If you belong to only one business, and someone else owns it, ask that owner. They can create the link on your page under Members.',
    askPlatform: (platform: Inline) => html`Otherwise, ask a platform admin or an operator of ${platform}.`,
    linkWorksOnce: 'The link works once. You will see on your account page who created it.',
    back: 'Back to sign-in',
  },
  newPassword: {
    title: 'Set a new password',
    account: (email: Inline, until: Inline) => html`For the account ${email}. This link works once, until ${until}.`,
    ends: {
      nothing:
        'Your passkeys, authenticator app and recovery codes will be removed, and every browser will be signed out.',
      'authenticator app':
        'Your passkeys will be removed, and every browser will be signed out. You will still need a code from your authenticator app, or a recovery code, to sign in.',
      passkeys: 'Every browser will be signed out. Your passkeys stay, and you will still need one of them to sign in.',
    },
    disconnect: 'Disconnect all apps',
    disconnectHint: 'Recommended: someone else may have connected apps to your account. You can connect yours again.',
    submit: 'Set password',
    closed: {
      title: 'This link does not work',
      sentence:
        'A link to set a new password works once, for a limited time. It stops working when a newer one is created, or when the password or the address changes. Ask for a new one.',
    } as ErrorText,
  },
  consent: {
    title: (app: Inline, business: Inline) => html`${app} wants to access ${business}`,
    switched: (business: string) => `You chose ${business}. Check the request, then allow.`,
    byPlatform: (app: Inline, platform: Inline) => html`${app} is an app by ${platform}.`,
    byPublisher: (app: Inline, publisher: Inline, platform: Inline) =>
      html`${app} is an app by ${publisher}. It is not made by ${platform}.`,
    unknownPublisher: 'an unknown developer',
    verified: 'Verified publisher',
    notVerified: 'Publisher not verified',
    byBusiness: (business: string) => html`It was registered by a business called <bdi>${quote(business)}</bdi>.`,
    byAnotherBusiness: (business: string) =>
      html`It was registered by another business called <bdi>${quote(business)}</bdi>.`,
    registered: (day: Inline) => html`Registered on ${day}`,
    links: { supportUrl: 'Support', privacyUrl: 'Privacy policy', termsUrl: 'Terms of service' },
    selfRegistered: 'This app registered itself; its name is not verified.',
    fromHost: (app: Inline, host: Inline) => html`${app} is an app from ${host}.`,
    notChecked: (platform: Inline) => html`It is not made or checked by ${platform}.`,
    notRegistered: (platform: Inline) => html`Not registered with ${platform}`,
    toThisDevice: (app: Inline) =>
      html`You will be sent to a program on this device, and any program can call itself ${app}. Choose Allow only if you started this yourself, just now.`,
    toAnotherSite: (target: Inline, home: Inline) =>
      html`You will be sent to ${target}, which is a different site from ${home}. Choose Allow only if you know both.`,
    new: 'New',
    allowedBefore: (mark: Inline) => html`You have allowed this app before. Additional permissions are marked ${mark}.`,
    keepsUnticked: 'What you allowed before stays allowed until you disconnect the app, even if you untick it here.',
    keeps: 'What you allowed before stays allowed until you disconnect the app.',
    business: 'Business',
    switch: 'Switch',
    signedInAs: 'Signed in as',
    sentTo: 'You will be sent to',
    thisSite: 'A page on this site',
    thisComputer: 'A program on this device',
    requestedScopes: (app: Inline) => html`What ${app} asks for`,
    needs: 'What it needs',
    may: 'What it may do',
    mayAlready: 'What it may already do',
    choose: 'What you can choose',
    untickHint: 'Untick what you do not want to allow. The app works without it.',
    tickHint: 'Tick what it may do. It can ask again when it needs more.',
    nothingTicked: 'Tick at least one, or choose Deny.',
    sensitive: 'Sensitive',
    sensitiveHint: 'Sensitive: concerns staff or the finances of the business.',
    profile: 'Your profile',
    nameAndEmail: 'Name and email address',
    edit: 'Edit',
    viewAndEdit: 'View and edit',
    connectIt: 'Connect it',
    forMe: 'For me',
    forMeHint: 'The connection ends when I leave.',
    forBusiness: (business: Inline) => html`For ${business}`,
    forBusinessHint: 'The connection stays when I leave. Another owner is then responsible for it.',
    isForBusiness: (app: Inline, business: Inline) =>
      html`${app} is connected for ${business}, and you are responsible for the connection. What you allow here is for ${business}, too.`,
    howLong: (app: Inline) => html`How long ${app} has access`,
    howLongHint: 'This applies to everything that it may do here. You can disconnect it earlier.',
    endsOn: (day: Inline) => html`Access ends on ${day}.`,
    untilDay: (day: string) => `Until ${day}, as before`,
    untilDisconnected: 'Until I disconnect it',
    days: (days: number) => formats.count(days, { one: '# day', other: '# days' }),
    deny: 'Deny',
    allow: 'Allow',
    smallPrint: (business: Inline, connectedApps: (name: string) => Inline) =>
      html`It never sees your password. What you allow is for ${business} only. You can disconnect it at any time, under ${connectedApps('Connected apps')}.`,
  },
  /** Instead of the consent screen. */
  restriction: {
    approvalTitle: (app: Inline) => html`An owner has to approve ${app}`,
    refusedTitle: (app: Inline) => html`An owner has refused ${app}`,
    blockedTitle: (app: Inline, business: Inline) => html`${app} is blocked in ${business}`,
    roleTitle: (app: Inline, business: Inline) => html`You cannot connect ${app} to ${business}`,
    blocked: (business: Inline) => html`An owner of ${business} has blocked this app, so nobody can connect it.`,
    refused: (business: Inline) => html`An owner of ${business} has refused your request.`,
    talkToOwner: 'If you need the app for your work, talk to an owner. They can change their decision.',
    reason: (reason: Inline) => html`Their reason: ${reason}`,
    ownersOnly: (business: Inline) =>
      html`It asks for data about staff or money. In ${business}, only owners may allow that. Ask an owner to connect the app.`,
    adminsOnly: (business: Inline) =>
      html`Only owners and admins can connect apps to ${business}. Ask one of them to connect it.`,
    approvedOnly: (business: Inline) =>
      html`${business} allows only apps that an owner has approved. You can ask an owner to approve this one.`,
    approvalRequested: 'You asked for approval.',
    mailFollows: 'You will get an email when an owner has decided.',
    seeAccountPage: 'Your account page will show the decision.',
    requestedAt: (time: Inline) =>
      html`Requested ${time}. Once it is approved, go back to the app and connect it again.`,
    requestedScopes: 'What it asks for',
    note: 'Why you need it (optional)',
    noteHint: 'Owners see it with your request.',
    back: (app: Inline) => html`Back to ${app}`,
    requestApproval: 'Ask for approval',
  },
  bounds: {
    title: (app: Inline) => html`${app} cannot be connected yet`,
    ofUser: (count: string, platform: Inline) =>
      html`You have connected ${count} apps that are not registered with ${platform}. A person cannot have more of them.`,
    ofBusiness: (business: Inline, count: string, platform: Inline) =>
      html`People have connected ${count} apps that are not registered with ${platform} to ${business}. A business cannot have more of them.`,
    disconnectOne: 'Disconnect one that is no longer needed',
    lastUsed: (time: Inline) => html`Last used ${time}`,
    all: 'All connected apps',
    askOwner: 'An owner can disconnect apps of other people. Ask one if you need this app.',
    tryAgain: 'Try again',
  },
  invitation: {
    title: 'Invitation',
    join: (business: Inline) => html`Join ${business}`,
    invites: (inviter: Inline) => html`${inviter} has invited you.`,
    role: 'Your role',
    expires: 'Invitation expires',
    signInToJoin: 'Sign in to join',
    newHere: 'Create an account',
    or: 'or, if you have an account',
    yourName: 'Your name',
    emailHint: 'You will sign in with this address.',
    createAccount: 'Create account and join',
    joinAs: (name: Inline) => html`Join as ${name}`,
    signedInAs: (email: Inline) => html`You are signed in as ${email}.`,
    expiredTitle: 'This link has expired',
    expired: (business: Inline, until: Inline) =>
      html`A link in an email works for 30 minutes, and stops working when a newer one is sent. The invitation to ${business} is open until ${until}.`,
    sendNew: (email: Inline) => html`Send a new link to ${email}`,
    otherAddressTitle: 'This invitation is for a different address',
    otherAddress: (invited: Inline, business: Inline, user: Inline) =>
      html`It invites ${invited} to ${business}. You are signed in as ${user}.`,
    unverifiedTitle: 'Your email address is not verified yet',
    unverified: (email: Inline, business: Inline) =>
      html`Your account was created with an invitation to another business, and ${email} has not been verified as your address. Until it is, the account cannot join ${business}.`,
    verifyByMail: (link: (name: string) => Inline, until: Inline) =>
      html`${link('Have a link sent to your address')} to verify it. Then open this invitation again. It is valid until ${until}.`,
    verifyByPlatform: (platform: Inline, until: Inline) =>
      html`Ask a platform admin or an operator of ${platform}. They can give you a one-time link to set a new password, which also verifies the address. Then open this invitation again. It is valid until ${until}.`,
    memberTitle: (business: Inline) => html`You are already a member of ${business}`,
    member: (email: Inline) =>
      html`You do not need an invitation. This one has not been used and still works for ${email}.`,
    seeMembers: 'See the members',
    unknown: {
      title: 'This link does not work',
      sentence: 'It may be incomplete. Ask the person who sent it to you for a new one.',
    } as ErrorText,
    closed: {
      open: { title: 'This link did not work', sentence: 'Open it again.' } as ErrorText,
      used: {
        title: 'This link has been used',
        sentence: 'An invitation works once. If you have joined with it, sign in.',
      } as ErrorText,
      withdrawn: {
        title: 'This invitation was withdrawn',
        sentence: 'Ask the person who sent it to you for a new one.',
      } as ErrorText,
      expired: {
        title: 'This invitation has expired',
        sentence: 'An invitation is valid for 7 days. Ask the person who sent it to you for a new one.',
      } as ErrorText,
    },
  },
  errors: {
    notFound: {
      title: 'Page not found',
      sentence: 'This page does not exist, or you do not have access to it.',
    } as ErrorText,
    notAllowed: 'Not allowed',
    noCookies:
      'Your browser sent no cookies, so you are signed out here, and no form can be accepted. Allow cookies for this site, then reload the page and try again.',
    /** Browsers drop `Secure` cookies over plain http; others than Safari make an exception for localhost. */
    noCookiesInSafari: 'The address of this site does not start with https, and Safari then drops its cookies.',
    signedOut: 'You are signed out, so nothing was changed. Sign in, open the page again and repeat it.',
    foreignForm: 'This form did not come from a page opened in this browser. Go back, reload the page and try again.',
    foreignConsent: 'This form belongs to another session, or has been changed. Go back to the app.',
    alreadySubmitted: { title: 'Already submitted', sentence: 'Go back to the app to start again.' } as ErrorText,
    methodNotAllowed: {
      title: 'Method not allowed',
      sentence: 'This address cannot be used in this way. Go back and try again.',
    } as ErrorText,
    failed: { title: 'Request failed', sentence: 'Go back and try again.' } as ErrorText,
    badRequest: { title: 'Bad request', sentence: 'The request could not be parsed.' } as ErrorText,
    tooManyRequests: 'Too many requests',
    unavailable: { title: 'Temporarily unavailable', sentence: 'Try again in a moment.' } as ErrorText,
    unexpected: {
      title: 'Something went wrong',
      sentence: 'The error has been logged. Try again, or come back later.',
    } as ErrorText,
    quote: (id: Inline) => html`If you ask for help, quote ${id}.`,
    backToApps: 'Back to Connected apps',
    appTitle: 'This app cannot be connected',
    appSentence:
      'The problem is in the app, not in your account. Nothing was shared with the app. You can close this page, or tell the people who run the app.',
    notAMember: {
      title: 'This app cannot be connected',
      sentence:
        'You are not a member of the business that the app asks for. Sign in with another account, or ask an owner of the business to invite you.',
    } as ErrorText,
    forDeveloper: 'For the app’s developer',
  },
  /** Why an app cannot be connected. What its developer can do about it is in English. */
  untrusted: {
    clientIdMissing: 'The request names no app: client_id is missing.',
    sentTwice: (name: string) => `${name} was sent more than once.`,
    unknownClientId: 'No app has this client_id.',
    paused: (app: string) => `${app} is paused.`,
    disabled: (app: string) => `${app} is disabled.`,
    redirectUriMissing: 'redirect_uri is missing.',
    redirectUriUnclear: 'redirect_uri is missing, and the app has several.',
    redirectUriForeign: (uri: string, app: string) => `${uri} is not a redirect URI of ${app}.`,
    rejected: (app: string) => `The request of ${app} is not valid.`,
    unknownApp: 'This server does not know the app.',
    notRegistered: 'This app is not registered here.',
    unusableDocument: (host: string) => `The metadata document of this app at ${host || 'its host'} cannot be used.`,
  },
  mail: {
    greeting: 'Hello,',
    greetingTo: (name: string) => `Hello ${name},`,
  },
  mails: {
    password_reset: ({ platformName, device, address }: CommonValues & FromDevice): MailText => ({
      subject: `Set a new password for ${platformName}`,
      paragraphs: [
        `Someone asked for a link to set a new password for your account at ${platformName}, using ${nameOf(device)} from the IP address ${address}.`,
        'If this was you, open this link:',
      ],
      action: 'Set a new password',
      closing: [LINK_WORKS_ONCE, 'If this was not you, ignore this email. Your password has not changed.'],
    }),
    invitation: ({
      platformName,
      businessName,
      inviterName,
      isImitation,
    }: CommonValues & { businessName: string; inviterName: string; isImitation: boolean }): MailText => ({
      subject: `Invitation to a business at ${platformName}`,
      paragraphs: [
        `You are invited to join ${isImitation ? 'another business called' : 'the business'} ${quote(businessName)} at ${platformName}. The invitation is from ${quote(inviterName)}. Open this link:`,
      ],
      action: 'See the invitation',
      closing: [
        'The link works once, within 30 minutes. After that, you can request a new one on the same page, for 7 days.',
        'If you do not know this person, ignore this email.',
      ],
    }),
    address_verification: ({ platformName }: CommonValues): MailText => ({
      subject: `Confirm your address for ${platformName}`,
      paragraphs: [
        `You asked to confirm that this is the address of your account at ${platformName}. Open this link in the browser where you are signed in:`,
      ],
      action: 'Confirm address',
      closing: [LINK_WORKS_ONCE, IGNORE_ADDRESS_LINK],
    }),
    address_change: ({ platformName }: CommonValues): MailText => ({
      subject: `Confirm your new address for ${platformName}`,
      paragraphs: [
        `You asked to use this address for your account at ${platformName}. Open this link in the browser where you are signed in:`,
      ],
      action: 'Use this address',
      closing: [LINK_WORKS_ONCE, IGNORE_ADDRESS_LINK],
    }),
    address_taken: ({ platformName }: CommonValues): MailText => ({
      subject: `This address has an account at ${platformName}`,
      paragraphs: [
        `A user of ${platformName} asked to use this address for another account. This address, or one that looks like it, already has an account, so nothing was changed.`,
        'If this was you, sign in with this address instead. If this was not you, ignore this email.',
      ],
    }),
    address_change_requested: ({
      platformName,
      newAddress,
      device,
      address,
    }: CommonValues & FromDevice & { newAddress: string }): MailText => ({
      subject: `Your address at ${platformName} is about to change`,
      paragraphs: [
        `Someone who is signed in to your account at ${platformName} asked to change its address to ${newAddress}, using ${nameOf(device)} from the IP address ${address}.`,
        'If this was you, there is nothing to do here. If this was not you, set a new password now: that stops the change.',
      ],
      action: 'Set a new password',
    }),
    address_changed: ({ platformName, newAddress }: CommonValues & { newAddress: string }): MailText => ({
      subject: `Your address at ${platformName} has changed`,
      paragraphs: [
        `Your account at ${platformName} now has the address ${newAddress}. Use the new address to sign in.`,
        `If this was not you, contact a platform admin of ${platformName} at once.`,
      ],
    }),
    notice: ({ platformName, title, sentence, advice, action }: CommonValues & NoticeText): MailText => ({
      subject: `${title} (${platformName})`,
      paragraphs: [sentence, advice],
      action,
    }),
  },
  notices: {
    new_sign_in: ({ browser, system, address }: Browser & { address: string }): NoticeText => ({
      title: 'New sign-in',
      action: 'See where you are signed in',
      sentence: `Someone signed in to your account using ${nameOf({ browser, system })} from the IP address ${address}. This browser had not been used before.`,
      advice: NOT_YOU,
    }),
    wrong_code: ({ address }: { address: string }): NoticeText => ({
      title: 'Wrong code after the correct password',
      action: 'Change your password',
      sentence: `Someone entered your password and then a wrong code, from the IP address ${address}.`,
      advice: 'If this was not you, someone knows your password. Change it.',
    }),
    app_connected: ({ app, business }: InBusiness): NoticeText => ({
      title: 'App connected',
      action: 'See connected apps',
      sentence: `You allowed ${quote(app)} to access ${quote(business)}.`,
      advice: 'If this was not you, disconnect the app under Connected apps, and change your password.',
    }),
    approval_requested: ({ app, business, by }: InBusiness & { by: string }): NoticeText => ({
      title: 'Approval requested',
      action: 'Review the request',
      sentence: `${quote(by)} wants to connect ${quote(app)} to ${quote(business)}.`,
      advice: 'Approve or refuse it under Business, Apps.',
    }),
    app_approved: ({ app, business }: InBusiness): NoticeText => ({
      title: 'App approved',
      action: 'See connected apps',
      sentence: `An owner of ${quote(business)} has approved your request to connect ${quote(app)}.`,
      advice: `Go to ${quote(app)} and connect it again.`,
    }),
    app_refused: ({ app, business, reason }: InBusiness & { reason: string }): NoticeText => ({
      title: 'App refused',
      action: 'See the decision',
      sentence: `An owner of ${quote(business)} has refused your request to connect ${quote(app)}.`,
      advice: reason
        ? `Their reason: ${quote(reason)}`
        : 'They gave no reason. Ask them if you need the app for your work.',
    }),
    connection_transferred: ({ app, business, from }: InBusiness & { from: string }): NoticeText => ({
      title: 'You are responsible for a connection',
      action: 'See connected apps',
      sentence: `${quote(app)} is connected for ${quote(business)}. ${quote(from)} was responsible for the connection, and now you are.`,
      advice: 'Connected apps shows what it may do. Disconnect it if the business no longer needs it.',
    }),
    handover_offered: ({ app, business, from, by }: OfConnection & { from: string; by: string }): NoticeText => ({
      title: 'You are asked to be responsible for a connection',
      action: 'Accept or decline',
      sentence: `${quote(by)} asks you to become responsible for the connection of ${quote(app)} to ${quote(business)}. Until you accept, ${quote(from)} is.`,
      advice: 'The page shows what the app may do. If you do not answer within 7 days, nothing changes.',
    }),
    /** `by` is empty for an operator. */
    secret_added: ({ app, by }: OfApp & { by: string }): NoticeText => ({
      title: 'Secret added',
      action: 'See the secrets',
      sentence: `${by ? quote(by) : 'An operator'} added a secret to the app ${quote(app)}.`,
      advice: 'If you did not expect it, check the audit log of the business.',
    }),
    endpoint_disabled: ({ app, host, why }: OfApp & { host: string; why: EndpointEnd }): NoticeText => {
      const reasons: Record<EndpointEnd, string> = {
        by_owner: 'someone who may change the app switched it off',
        failing: 'it had been failing for days',
        gone: 'it responded with 410 Gone',
      };
      return {
        title: 'Webhook endpoint switched off',
        action: 'See the endpoints',
        sentence: `The endpoint of the app ${quote(app)} at ${host} is off: ${reasons[why]}.`,
        advice: 'Its events are kept for a while. Switch it on again on the page of the app.',
      };
    },
    factor_added: ({ passkey }: AddedFactor): NoticeText => ({
      title: 'Sign-in method added',
      action: 'Check your sign-in methods',
      sentence: `${passkey ? `The passkey ${quote(passkey)}` : 'The authenticator app'} was added to your account.`,
      advice: NOT_YOU,
    }),
    factor_removed: ({ factor, passkey, by }: RemovedFactor): NoticeText => {
      const names: Record<RemovedFactor['factor'], string> = {
        app: 'The authenticator app',
        passkey: `The passkey ${quote(passkey)}`,
        all_passkeys: 'Every passkey',
      };
      return {
        title: 'Sign-in method removed',
        action: 'Check your sign-in methods',
        sentence: `${names[factor]} was removed from your account by ${by === 'user' ? 'you' : 'an operator'}.`,
        advice: NOT_YOU,
      };
    },
    recovery_code_used: ({ left }: { left: string }): NoticeText => ({
      title: 'Recovery code used',
      action: 'Check two-step sign-in',
      sentence: `A recovery code for your account was used. Codes left: ${left}.`,
      advice: NOT_YOU,
    }),
    recovery_codes_renewed: (_: Record<string, never>): NoticeText => ({
      title: 'New recovery codes',
      action: 'Check two-step sign-in',
      sentence: 'New recovery codes were created for your account. The previous ones no longer work.',
      advice: NOT_YOU,
    }),
    password_changed: ({ how, two_step }: PasswordChange): NoticeText => {
      const ways: Record<PasswordChange['how'], string> = {
        account_page: 'on your account page',
        by_operator: 'by an operator',
        user: 'with a link that an owner of your business created',
        platform: 'with a link that a platform admin created',
        operator: 'with a link that an operator created',
        mail: 'with a link that was emailed to you',
      };
      return {
        title: 'Password changed',
        action: 'Open your account page',
        sentence: `Your password was changed ${ways[how]}${two_step === 'removed' ? ', and two-step sign-in was removed' : ''}.`,
        advice:
          'If this was not you, ask for a new password on the sign-in page, or ask an owner of your business for help.',
      };
    },
  },
};

export type Texts = typeof en;
