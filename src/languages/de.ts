import { html } from '../lib/html.ts';
import { quoteIn } from '../lib/quotes.ts';
import type { Texts } from './en.ts';
import { createFormats } from './formats.ts';
import type { Browser } from './texts.ts';

const formats = createFormats('de-DE');
const quote = quoteIn('„“');

function nameOf({ browser, system }: Browser): string {
  return `${browser || 'unbekannter Browser'}${system && ` auf ${system}`}`;
}

const LINK_WORKS_ONCE = 'Der Link funktioniert nur einmal und nur 30 Minuten lang. Ein neuerer Link ersetzt ihn.';
const IGNORE_ADDRESS_LINK =
  'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail. Der Link ist wirkungslos, wenn man nicht bei diesem Konto angemeldet ist.';
const NOT_YOU =
  'Wenn Sie das nicht waren, ändern Sie auf Ihrer Kontoseite Ihr Passwort und melden Sie sich überall sonst ab. Prüfen Sie dort auch Ihre Passkeys und Ihre Authenticator-App.';

export const de: Texts = {
  tag: 'de',
  name: 'Deutsch',
  direction: 'ltr',
  formats,
  problems: {
    nameMissing: 'Geben Sie einen Namen ein.',
    nothingVisible: 'Geben Sie sichtbare Zeichen ein.',
    visibleOnly: 'Verwenden Sie nur sichtbare Zeichen.',
    nameWithAddress: 'Verwenden Sie einen Namen ohne /, @ und www.',
    tooLong: (most) => `Verwenden Sie höchstens ${formats.number(most)} Zeichen.`,
    emailMalformed: 'Geben Sie eine E-Mail-Adresse ein, zum Beispiel ada@example.com.',
    emailMixed: 'Verwenden Sie nur Buchstaben eines Alphabets.',
    passwordShort: 'Verwenden Sie mindestens 8 Zeichen.',
    passwordIsEmail: 'Verwenden Sie etwas anderes als Ihre E-Mail-Adresse.',
    passwordCommon: 'Dieses Passwort gehört zu denen, die Angreifer zuerst probieren. Wählen Sie ein anderes.',
    addressTaken:
      'Mit dieser E-Mail-Adresse gibt es bereits ein Konto. Melden Sie sich damit an, um beizutreten. Wenn das nicht geht, wählen Sie auf der Anmeldeseite „Passwort vergessen?“.',
    alreadyMember: (business) => `Sie sind bereits Mitglied von ${business}.`,
    otherAddress: 'Mit diesem Konto können Sie nicht beitreten: Die Einladung gilt für eine andere Adresse.',
    addressNotVerified: 'Mit diesem Konto können Sie nicht beitreten: Seine Adresse ist nicht bestätigt.',
    wrongCode:
      'Dieser Code ist falsch oder wurde schon verwendet. Warten Sie auf den nächsten und versuchen Sie es erneut.',
    endMissing: 'Wählen Sie, wie lange die App Zugriff haben darf.',
    tooManyRequests: (most) =>
      `${formats.number(most)} Ihrer Anfragen warten auf einen Inhaber dieses Unternehmens. Warten Sie, bis über eine davon entschieden wurde.`,
    tooManyAttempts: (seconds) =>
      `Zu viele Versuche. Versuchen Sie es in ${seconds < 120 ? formats.count(seconds, { one: '# Sekunde', other: '# Sekunden' }) : `${formats.number(Math.ceil(seconds / 60))} Minuten`} erneut.`,
    overloaded: 'Der Server ist überlastet. Versuchen Sie es gleich noch einmal.',
  },
  scopes: {
    'read:invoices': 'Rechnungen, Rechnungspositionen und Zahlungsstatus ansehen',
    'write:invoices': 'Rechnungen erstellen, ändern und versenden',
    'read:contacts': 'Kontakte und Firmen im CRM ansehen',
    'write:contacts': 'Kontakte erstellen und ändern',
    'read:deals': 'Deals und Pipeline im CRM ansehen',
    'write:deals': 'Deals erstellen und ihre Phase ändern',
    'read:expenses': 'Spesenabrechnungen und ihre Kategorien ansehen',
    'read:reports': 'Finanzberichte und Auswertungen ansehen',
    'read:employees': 'Personaldaten ansehen (Modul Personal)',
    'read:orders': 'Bestellungen im Onlineshop und ihre Abwicklung ansehen',
  },
  resources: {
    invoices: 'Rechnungen',
    contacts: 'Kontakte',
    deals: 'Deals',
    expenses: 'Spesen',
    reports: 'Berichte',
    employees: 'Personal',
    orders: 'Bestellungen',
  },
  roles: {
    owner: {
      name: 'Inhaber',
      meaning:
        'Darf alles, was Administratoren dürfen, Personen einladen und entfernen und das Audit-Protokoll einsehen.',
    },
    admin: {
      name: 'Administrator',
      meaning: 'Darf alles, was Mitglieder dürfen, und die Apps des Unternehmens registrieren und ändern.',
    },
    member: { name: 'Mitglied', meaning: 'Darf Apps mit dem Unternehmen verbinden.' },
  },
  layout: { skip: 'Zum Inhalt springen', currentBusiness: 'Aktuelles Unternehmen' },
  fields: {
    email: 'E-Mail-Adresse',
    password: 'Passwort',
    newPassword: 'Neues Passwort',
    passwordHint: 'Mindestens 8 Zeichen.',
    showPassword: 'Passwort anzeigen',
    code: 'Code',
    codeHint: 'Die sechs Ziffern, die Ihre Authenticator-App gerade anzeigt.',
    recoveryCode: 'Wiederherstellungscode',
    recoveryCodeHint:
      'Einer der Codes, die Sie beim Einrichten der Anmeldung in zwei Schritten gespeichert haben. Jeder funktioniert einmal.',
  },
  signIn: {
    title: 'Anmelden',
    destination: (name) => html`weiter zu ${name}`,
    submit: 'Anmelden',
    forgot: 'Passwort vergessen?',
    anotherAccount: 'Anderes Konto verwenden',
    wrongPassword: 'Die E-Mail-Adresse oder das Passwort ist falsch.',
    wrongPasskey:
      'Die Anmeldung mit diesem Passkey ist fehlgeschlagen. Versuchen Sie es erneut oder verwenden Sie Ihr Passwort.',
  },
  signInMessages: {
    session_over: 'Ihre Sitzung ist beendet. Melden Sie sich an, um fortzufahren.',
    signed_out: 'Sie sind abgemeldet.',
    password_set: 'Ihr neues Passwort ist festgelegt. Melden Sie sich damit an.',
    password_mailed:
      'Wenn es ein Konto mit dieser Adresse gibt, ist eine E-Mail mit einem Link unterwegs, mit dem Sie ein neues Passwort festlegen können. Der Link funktioniert 30 Minuten lang.',
    account_deleted: 'Ihr Konto ist gelöscht.',
    invitation_mailed:
      'Eine E-Mail mit einem neuen Link zur Einladung ist unterwegs. Der Link funktioniert 30 Minuten lang.',
    second_step_required:
      'Die Anmeldung in zwei Schritten ist erforderlich. Melden Sie sich erneut an, diesmal in zwei Schritten.',
    sign_in_again: 'Ihre letzte Anmeldung ist mehr als 15 Minuten her. Melden Sie sich für diese Änderung erneut an.',
  },
  signOut: {
    title: 'Abmelden',
    question: 'Abmelden?',
    appsStay: 'Verbundene Apps bleiben verbunden.',
    submit: 'Abmelden',
  },
  passkeys: {
    useInstead: 'Passkey verwenden',
    notUsed: 'Es wurde kein Passkey verwendet. Sie können es erneut versuchen.',
    alreadyHere: 'Dieses Gerät hat bereits einen Passkey für Ihr Konto.',
    notAtThisAddress: 'Unter dieser Adresse können keine Passkeys verwendet werden.',
    failed: 'Das hat nicht funktioniert. Laden Sie die Seite neu und versuchen Sie es noch einmal.',
  },
  secondStep: {
    title: 'Anmeldung in zwei Schritten',
    account: (destination, email) => html`weiter zu ${destination} als ${email}`,
    passkeyRequired: 'Ihr Unternehmen verlangt die Anmeldung in zwei Schritten. Melden Sie sich mit Ihrem Passkey an.',
    useRecoveryCode: 'Wiederherstellungscode verwenden',
    lostPhone: (platform) =>
      html`Telefon verloren? Ein Inhaber Ihres Unternehmens oder ein Plattform-Administrator von ${platform} kann Ihnen einen Link geben, mit dem Sie ein neues Passwort festlegen können und der auch den zweiten Schritt entfernt.`,
    lostPhoneAndCodes: (platform) =>
      html`Telefon und Wiederherstellungscodes verloren? Ein Inhaber Ihres Unternehmens oder ein Plattform-Administrator von ${platform} kann Ihnen einen Link geben, mit dem Sie ein neues Passwort festlegen können und der auch den zweiten Schritt entfernt.`,
  },
  forgottenPassword: {
    title: 'Passwort vergessen?',
    intro:
      'Geben Sie die Adresse ein, mit der Sie sich anmelden. Sie erhalten eine E-Mail mit einem Link, mit dem Sie ein neues Passwort festlegen können.',
    submit: 'Link senden',
    noMail: (platform) =>
      html`${platform} versendet keine E-Mails. Bitten Sie um einen einmal verwendbaren Link, mit dem Sie ein neues Passwort festlegen können:`,
    askOwner:
      'Wenn Sie nur einem Unternehmen angehören und es einen anderen Inhaber hat, kann dieser den Link erstellen: auf Ihrer Seite unter „Members“.',
    askPlatform: (platform) =>
      html`Andernfalls kann das ein Plattform-Administrator oder ein Betreiber von ${platform}.`,
    linkWorksOnce: 'Der Link funktioniert einmal. Auf Ihrer Kontoseite sehen Sie, wer ihn erstellt hat.',
    back: 'Zurück zur Anmeldung',
  },
  newPassword: {
    title: 'Neues Passwort festlegen',
    account: (email, until) => html`Für das Konto ${email}. Dieser Link funktioniert einmal, bis ${until}.`,
    ends: {
      nothing:
        'Ihre Passkeys, Ihre Authenticator-App und Ihre Wiederherstellungscodes werden entfernt, und alle Browser werden abgemeldet.',
      'authenticator app':
        'Ihre Passkeys werden entfernt, und alle Browser werden abgemeldet. Zum Anmelden brauchen Sie weiterhin einen Code Ihrer Authenticator-App oder einen Wiederherstellungscode.',
      passkeys:
        'Alle Browser werden abgemeldet. Ihre Passkeys bleiben, und zum Anmelden brauchen Sie weiterhin einen davon.',
    },
    disconnect: 'Alle Apps trennen',
    disconnectHint:
      'Empfohlen: Jemand anderes könnte Apps mit Ihrem Konto verbunden haben. Ihre eigenen können Sie wieder verbinden.',
    submit: 'Passwort festlegen',
    closed: {
      title: 'Dieser Link funktioniert nicht',
      sentence:
        'Ein Link für ein neues Passwort funktioniert einmal und für begrenzte Zeit. Er endet, wenn ein neuerer erstellt wird oder sich das Passwort oder die Adresse ändert. Fordern Sie einen neuen an.',
    },
  },
  consent: {
    title: (app, business) => html`${app} möchte auf ${business} zugreifen`,
    switched: (business) => `Sie haben ${business} gewählt. Prüfen Sie die Anfrage, bevor Sie zustimmen.`,
    byPlatform: (app, platform) => html`${app} ist eine App von ${platform}.`,
    byPublisher: (app, publisher, platform) =>
      html`${app} ist eine App von ${publisher}. Sie stammt nicht von ${platform}.`,
    unknownPublisher: 'einem unbekannten Entwickler',
    verified: 'Verifizierter Anbieter',
    notVerified: 'Herausgeber nicht verifiziert',
    byBusiness: (business) => html`Sie wurde von einem Unternehmen namens <bdi>${quote(business)}</bdi> registriert.`,
    byAnotherBusiness: (business) =>
      html`Sie wurde von einem anderen Unternehmen namens <bdi>${quote(business)}</bdi> registriert.`,
    registered: (day) => html`Registriert am ${day}`,
    links: { supportUrl: 'Support', privacyUrl: 'Datenschutzerklärung', termsUrl: 'Nutzungsbedingungen' },
    selfRegistered: 'Diese App hat sich selbst registriert; ihr Name ist nicht überprüft.',
    fromHost: (app, host) => html`${app} ist eine App von ${host}.`,
    notChecked: (platform) => html`Sie stammt nicht von ${platform} und wurde dort nicht geprüft.`,
    notRegistered: (platform) => html`Nicht bei ${platform} registriert`,
    toThisDevice: (app) =>
      html`Sie werden zu einem Programm auf diesem Gerät weitergeleitet, und jedes Programm kann sich ${app} nennen. Wählen Sie „Zugriff erlauben“ nur, wenn Sie diesen Vorgang gerade selbst gestartet haben.`,
    toAnotherSite: (target, home) =>
      html`Sie werden zu ${target} weitergeleitet, einer anderen Website als ${home}. Wählen Sie „Zugriff erlauben“ nur, wenn Sie beide kennen.`,
    new: 'Neu',
    allowedBefore: (mark) =>
      html`Sie haben dieser App schon einmal Zugriff erlaubt. Was sie zusätzlich anfordert, ist mit ${mark} gekennzeichnet.`,
    keepsUnticked: 'Was Sie früher erlaubt haben, behält die App, bis Sie sie trennen, auch wenn Sie es hier abwählen.',
    keeps: 'Was Sie früher erlaubt haben, behält die App, bis Sie sie trennen.',
    business: 'Unternehmen',
    switch: 'Wechseln',
    signedInAs: 'Angemeldet als',
    sentTo: 'Sie werden weitergeleitet zu',
    thisSite: 'Eine Seite dieser Website',
    thisComputer: 'Ein Programm auf diesem Gerät',
    requestedScopes: (app) => html`Berechtigungen, die ${app} anfordert`,
    needs: 'Das braucht die App',
    may: 'Das darf die App',
    mayAlready: 'Das darf die App bereits',
    choose: 'Das können Sie auswählen',
    untickHint: 'Wählen Sie ab, was Sie nicht erlauben möchten. Die App funktioniert auch ohne.',
    tickHint: 'Wählen Sie aus, was die App darf. Braucht sie später mehr, fragt sie erneut.',
    nothingTicked: 'Wählen Sie mindestens eine Berechtigung aus, oder wählen Sie „Ablehnen“.',
    sensitive: 'Vertraulich',
    sensitiveHint: 'Vertraulich: betrifft das Personal oder die Finanzen des Unternehmens.',
    profile: 'Ihr Profil',
    nameAndEmail: 'Name und E-Mail-Adresse',
    edit: 'Bearbeiten',
    viewAndEdit: 'Ansehen und bearbeiten',
    connectIt: 'Verbinden',
    forMe: 'Für mich',
    forMeHint: 'Die Verbindung endet, wenn ich das Unternehmen verlasse.',
    forBusiness: (business) => html`Für ${business}`,
    forBusinessHint:
      'Die Verbindung bleibt, wenn ich das Unternehmen verlasse. Dann ist ein anderer Inhaber dafür verantwortlich.',
    isForBusiness: (app, business) =>
      html`${app} ist für ${business} verbunden, und Sie sind für die Verbindung verantwortlich. Auch was Sie hier erlauben, gilt für ${business}.`,
    howLong: (app) => html`Wie lange ${app} Zugriff hat`,
    howLongHint: 'Gilt für alles, was die App hier darf. Sie können die App auch früher trennen.',
    endsOn: (day) => html`Der Zugriff endet am ${day}.`,
    untilDay: (day) => `Bis zum ${day}, wie bisher`,
    untilDisconnected: 'Bis ich die App trenne',
    days: (days) => formats.count(days, { one: '# Tag', other: '# Tage' }),
    deny: 'Ablehnen',
    allow: 'Zugriff erlauben',
    smallPrint: (business, connectedApps) =>
      html`Die App sieht nie Ihr Passwort. Was Sie erlauben, gilt nur für ${business}. Unter ${connectedApps('Connected apps')} können Sie die App jederzeit trennen.`,
  },
  restriction: {
    approvalTitle: (app) => html`Ein Inhaber muss ${app} genehmigen`,
    refusedTitle: (app) => html`Ein Inhaber hat ${app} abgelehnt`,
    blockedTitle: (app, business) => html`${app} ist bei ${business} gesperrt`,
    roleTitle: (app, business) => html`Sie können ${app} nicht mit ${business} verbinden`,
    blocked: (business) =>
      html`Ein Inhaber von ${business} hat diese App gesperrt, deshalb kann niemand sie verbinden.`,
    refused: (business) => html`Ein Inhaber von ${business} hat Ihre Anfrage abgelehnt.`,
    talkToOwner:
      'Wenn Sie die App für Ihre Arbeit brauchen, sprechen Sie mit einem Inhaber. Er kann die Entscheidung zurücknehmen.',
    reason: (reason) => html`Begründung: ${reason}`,
    ownersOnly: (business) =>
      html`Sie fordert Daten über Personal oder Finanzen an. Bei ${business} dürfen das nur Inhaber erlauben. Bitten Sie einen Inhaber, die App zu verbinden.`,
    adminsOnly: (business) =>
      html`Nur Inhaber und Administratoren können Apps mit ${business} verbinden. Bitten Sie einen von ihnen, sie zu verbinden.`,
    approvedOnly: (business) =>
      html`${business} lässt nur Apps zu, die ein Inhaber genehmigt hat. Sie können die Genehmigung dieser App anfragen.`,
    approvalRequested: 'Sie haben die Genehmigung angefragt.',
    mailFollows: 'Sie erhalten eine E-Mail, sobald ein Inhaber entschieden hat.',
    seeAccountPage: 'Ihre Kontoseite zeigt, wie ein Inhaber entscheidet.',
    requestedAt: (time) =>
      html`Angefragt: ${time}. Sobald die App genehmigt ist, kehren Sie zu ihr zurück und verbinden Sie sie erneut.`,
    requestedScopes: 'Angeforderte Berechtigungen',
    note: 'Wofür Sie die App brauchen (optional)',
    noteHint: 'Inhaber sehen das mit Ihrer Anfrage.',
    back: (app) => html`Zurück zu ${app}`,
    requestApproval: 'Genehmigung anfragen',
  },
  bounds: {
    title: (app) => html`${app} kann noch nicht verbunden werden`,
    ofUser: (count, platform) =>
      html`Sie haben ${count} Apps verbunden, die nicht bei ${platform} registriert sind. Mehr davon kann eine Person nicht haben.`,
    ofBusiness: (business, count, platform) =>
      html`Mit ${business} sind ${count} Apps verbunden, die nicht bei ${platform} registriert sind. Mehr davon kann ein Unternehmen nicht haben.`,
    disconnectOne: 'Trennen Sie eine, die nicht mehr gebraucht wird',
    lastUsed: (time) => html`Zuletzt verwendet: ${time}`,
    all: 'Alle verbundenen Apps',
    askOwner: 'Ein Inhaber kann Apps anderer Personen trennen. Bitten Sie einen darum, wenn Sie diese App brauchen.',
    tryAgain: 'Erneut versuchen',
  },
  invitation: {
    title: 'Einladung',
    join: (business) => html`${business} beitreten`,
    invites: (inviter) => html`${inviter} lädt Sie ein.`,
    role: 'Ihre Rolle',
    expires: 'Einladung gültig bis',
    signInToJoin: 'Anmelden und beitreten',
    newHere: 'Konto erstellen',
    or: 'oder, wenn Sie schon ein Konto haben',
    yourName: 'Ihr Name',
    emailHint: 'Mit dieser Adresse melden Sie sich an.',
    createAccount: 'Konto erstellen und beitreten',
    joinAs: (name) => html`Als ${name} beitreten`,
    signedInAs: (email) => html`Sie sind als ${email} angemeldet.`,
    expiredTitle: 'Dieser Link ist abgelaufen',
    expired: (business, until) =>
      html`Ein Link in einer E-Mail funktioniert 30 Minuten lang und endet, wenn ein neuerer versendet wird. Die Einladung zu ${business} gilt bis ${until}.`,
    sendNew: (email) => html`Neuen Link an ${email} senden`,
    otherAddressTitle: 'Diese Einladung gilt für eine andere Adresse',
    otherAddress: (invited, business, user) =>
      html`Sie lädt ${invited} zu ${business} ein. Sie sind als ${user} angemeldet.`,
    unverifiedTitle: 'Ihre E-Mail-Adresse ist noch nicht bestätigt',
    unverified: (email, business) =>
      html`Ihr Konto wurde mit einer Einladung zu einem anderen Unternehmen erstellt, und es ist nicht bestätigt, dass ${email} Ihre Adresse ist. Bis dahin kann das Konto ${business} nicht beitreten.`,
    verifyByMail: (link, until) =>
      html`${link('Lassen Sie einen Link an Ihre Adresse senden')}, um sie zu bestätigen. Öffnen Sie dann diese Einladung erneut. Sie gilt bis ${until}.`,
    verifyByPlatform: (platform, until) =>
      html`Fragen Sie einen Plattform-Administrator oder einen Betreiber von ${platform}. Sie erhalten dann einen einmal verwendbaren Link, mit dem Sie ein neues Passwort festlegen können und der auch die Adresse bestätigt. Öffnen Sie danach diese Einladung erneut. Sie gilt bis ${until}.`,
    memberTitle: (business) => html`Sie sind bereits Mitglied von ${business}`,
    member: (email) => html`Sie brauchen keine Einladung. Diese wurde nicht verwendet und gilt weiterhin für ${email}.`,
    seeMembers: 'Mitglieder ansehen',
    unknown: {
      title: 'Dieser Link funktioniert nicht',
      sentence: 'Vielleicht ist er unvollständig. Bitten Sie die Person, von der Sie ihn haben, um einen neuen.',
    },
    closed: {
      open: { title: 'Dieser Link hat nicht funktioniert', sentence: 'Öffnen Sie ihn erneut.' },
      used: {
        title: 'Dieser Link wurde schon verwendet',
        sentence: 'Eine Einladung gilt einmal. Wenn Sie damit beigetreten sind, melden Sie sich an.',
      },
      withdrawn: {
        title: 'Diese Einladung wurde zurückgezogen',
        sentence: 'Bitten Sie die Person, von der Sie sie haben, um eine neue.',
      },
      expired: {
        title: 'Diese Einladung ist abgelaufen',
        sentence: 'Eine Einladung gilt 7 Tage. Bitten Sie die Person, von der Sie sie haben, um eine neue.',
      },
    },
  },
  errors: {
    notFound: {
      title: 'Seite nicht gefunden',
      sentence: 'Diese Seite gibt es nicht, oder Sie haben keinen Zugriff darauf.',
    },
    notAllowed: 'Nicht erlaubt',
    noCookies:
      'Ihr Browser hat keine Cookies gesendet. Deshalb sind Sie hier nicht angemeldet, und Formulare können nicht angenommen werden. Erlauben Sie Cookies für diese Website, laden Sie die Seite neu und versuchen Sie es erneut.',
    noCookiesInSafari: 'Die Adresse dieser Website beginnt nicht mit https, und Safari verwirft dann ihre Cookies.',
    signedOut:
      'Sie sind abgemeldet; deshalb wurde nichts geändert. Melden Sie sich an, öffnen Sie die Seite erneut und wiederholen Sie die Eingabe.',
    foreignForm:
      'Dieses Formular stammt nicht von einer Seite, die in diesem Browser geöffnet wurde. Gehen Sie zurück, laden Sie die Seite neu und versuchen Sie es erneut.',
    foreignConsent: 'Dieses Formular gehört zu einer anderen Sitzung oder wurde verändert. Kehren Sie zur App zurück.',
    alreadySubmitted: { title: 'Bereits gesendet', sentence: 'Kehren Sie zur App zurück, um neu zu beginnen.' },
    methodNotAllowed: {
      title: 'Methode nicht erlaubt',
      sentence: 'Diese Adresse kann so nicht verwendet werden. Gehen Sie zurück und versuchen Sie es erneut.',
    },
    failed: { title: 'Anfrage fehlgeschlagen', sentence: 'Gehen Sie zurück und versuchen Sie es erneut.' },
    badRequest: { title: 'Ungültige Anfrage', sentence: 'Die Anfrage konnte nicht gelesen werden.' },
    tooManyRequests: 'Zu viele Anfragen',
    unavailable: { title: 'Vorübergehend nicht verfügbar', sentence: 'Versuchen Sie es gleich noch einmal.' },
    unexpected: {
      title: 'Etwas ist schiefgegangen',
      sentence: 'Der Fehler wurde protokolliert. Versuchen Sie es erneut, oder kommen Sie später wieder.',
    },
    quote: (id) => html`Wenn Sie um Hilfe bitten, nennen Sie ${id}.`,
    backToApps: 'Zurück zu „Connected apps“',
    appTitle: 'Diese App kann nicht verbunden werden',
    appSentence:
      'Das Problem liegt bei der App, nicht bei Ihrem Konto. Es wurde nichts an die App weitergegeben. Sie können diese Seite schließen oder den Betreibern der App Bescheid geben.',
    notAMember: {
      title: 'Diese App kann nicht verbunden werden',
      sentence:
        'Sie sind nicht Mitglied des Unternehmens, auf das die App zugreifen möchte. Melden Sie sich mit einem anderen Konto an, oder bitten Sie einen Inhaber des Unternehmens um eine Einladung.',
    },
    forDeveloper: 'Für die Entwickler der App',
  },
  untrusted: {
    clientIdMissing: 'Die Anfrage nennt keine App: client_id fehlt.',
    sentTwice: (name) => `${name} wurde mehr als einmal gesendet.`,
    unknownClientId: 'Keine App hat diese client_id.',
    paused: (app) => `${app} ist pausiert.`,
    disabled: (app) => `${app} ist deaktiviert.`,
    redirectUriMissing: 'redirect_uri fehlt.',
    redirectUriUnclear: 'redirect_uri fehlt, und die App hat mehrere.',
    redirectUriForeign: (uri, app) => `${uri} ist keine Redirect-URI von ${app}.`,
    rejected: (app) => `Die Anfrage von ${app} ist nicht gültig.`,
    unknownApp: 'Dieser Server kennt die App nicht.',
    notRegistered: 'Diese App ist hier nicht registriert.',
    unusableDocument: (host) =>
      `Das Metadatendokument dieser App ${host ? `unter ${host}` : 'bei ihrem Host'} kann nicht verwendet werden.`,
  },
  mail: {
    greeting: 'Guten Tag,',
    greetingTo: (name) => `Guten Tag ${name},`,
  },
  mails: {
    password_reset: ({ platformName, device, address }) => ({
      subject: `Neues Passwort für ${platformName} festlegen`,
      paragraphs: [
        `Jemand hat einen Link angefordert, mit dem sich ein neues Passwort für Ihr Konto bei ${platformName} festlegen lässt (${nameOf(device)}, IP-Adresse ${address}).`,
        'Wenn Sie das waren, öffnen Sie diesen Link:',
      ],
      action: 'Neues Passwort festlegen',
      closing: [
        LINK_WORKS_ONCE,
        'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail. Ihr Passwort bleibt, wie es ist.',
      ],
    }),
    invitation: ({ platformName, businessName, inviterName, isImitation }) => ({
      subject: `Einladung zu einem Unternehmen bei ${platformName}`,
      paragraphs: [
        `Sie sind eingeladen, ${isImitation ? 'einem anderen Unternehmen namens' : 'dem Unternehmen'} ${quote(businessName)} bei ${platformName} beizutreten. Die Einladung kommt von ${quote(inviterName)}. Öffnen Sie diesen Link:`,
      ],
      action: 'Einladung ansehen',
      closing: [
        'Der Link funktioniert nur einmal und nur 30 Minuten lang. Danach können Sie auf derselben Seite 7 Tage lang einen neuen anfordern.',
        'Wenn Sie den Absender nicht kennen, ignorieren Sie diese E-Mail.',
      ],
    }),
    address_verification: ({ platformName }) => ({
      subject: `Bestätigen Sie Ihre Adresse für ${platformName}`,
      paragraphs: [
        `Sie möchten bestätigen, dass dies die Adresse Ihres Kontos bei ${platformName} ist. Öffnen Sie diesen Link in dem Browser, in dem Sie angemeldet sind:`,
      ],
      action: 'Adresse bestätigen',
      closing: [LINK_WORKS_ONCE, IGNORE_ADDRESS_LINK],
    }),
    address_change: ({ platformName }) => ({
      subject: `Bestätigen Sie Ihre neue Adresse für ${platformName}`,
      paragraphs: [
        `Sie möchten diese Adresse für Ihr Konto bei ${platformName} verwenden. Öffnen Sie diesen Link in dem Browser, in dem Sie angemeldet sind:`,
      ],
      action: 'Diese Adresse verwenden',
      closing: [LINK_WORKS_ONCE, IGNORE_ADDRESS_LINK],
    }),
    address_taken: ({ platformName }) => ({
      subject: `Diese Adresse hat ein Konto bei ${platformName}`,
      paragraphs: [
        `Jemand wollte diese Adresse bei ${platformName} für ein anderes Konto verwenden. Mit ihr, oder mit einer sehr ähnlichen, gibt es bereits ein Konto; deshalb wurde nichts geändert.`,
        'Wenn Sie das waren, melden Sie sich stattdessen mit dieser Adresse an. Wenn nicht, ignorieren Sie diese E-Mail.',
      ],
    }),
    address_change_requested: ({ platformName, newAddress, device, address }) => ({
      subject: `Ihre Adresse bei ${platformName} soll geändert werden`,
      paragraphs: [
        `Jemand, der bei Ihrem Konto bei ${platformName} angemeldet ist, möchte dessen Adresse in ${newAddress} ändern (${nameOf(device)}, IP-Adresse ${address}).`,
        'Wenn Sie das waren, müssen Sie hier nichts tun. Wenn nicht, legen Sie jetzt ein neues Passwort fest: Das verhindert die Änderung.',
      ],
      action: 'Neues Passwort festlegen',
    }),
    address_changed: ({ platformName, newAddress }) => ({
      subject: `Ihre Adresse bei ${platformName} wurde geändert`,
      paragraphs: [
        `Ihr Konto bei ${platformName} hat jetzt die Adresse ${newAddress}. Sie melden sich mit dieser Adresse an.`,
        `Wenn Sie das nicht waren, wenden Sie sich sofort an einen Plattform-Administrator von ${platformName}.`,
      ],
    }),
    notice: ({ platformName, title, sentence, advice, action }) => ({
      subject: `${title} (${platformName})`,
      paragraphs: [sentence, advice],
      action,
    }),
  },
  notices: {
    new_sign_in: ({ browser, system, address }) => ({
      title: 'Neue Anmeldung',
      action: 'Angemeldete Browser ansehen',
      sentence: `Bei Ihrem Konto hat sich ein bisher nicht verwendeter Browser angemeldet: ${nameOf({ browser, system })}, IP-Adresse ${address}.`,
      advice: NOT_YOU,
    }),
    wrong_code: ({ address }) => ({
      title: 'Falscher Code nach Ihrem Passwort',
      action: 'Passwort ändern',
      sentence: `Jemand hat von der IP-Adresse ${address} aus Ihr Passwort und danach einen falschen Code eingegeben.`,
      advice: 'Wenn Sie das nicht waren, kennt jemand Ihr Passwort. Ändern Sie es.',
    }),
    app_connected: ({ app, business }) => ({
      title: 'App verbunden',
      action: 'Verbundene Apps ansehen',
      sentence: `Sie haben ${quote(app)} den Zugriff auf ${quote(business)} erlaubt.`,
      advice: 'Wenn Sie das nicht waren, trennen Sie die App unter „Connected apps“ und ändern Sie Ihr Passwort.',
    }),
    approval_requested: ({ app, business, by }) => ({
      title: 'Genehmigung angefragt',
      action: 'Anfrage prüfen',
      sentence: `${quote(by)} möchte ${quote(app)} mit ${quote(business)} verbinden.`,
      advice: 'Entscheiden Sie darüber unter „Business“, „Apps“.',
    }),
    app_approved: ({ app, business }) => ({
      title: 'App genehmigt',
      action: 'Verbundene Apps ansehen',
      sentence: `Ein Inhaber von ${quote(business)} hat Ihre Anfrage genehmigt, ${quote(app)} zu verbinden.`,
      advice: `Öffnen Sie ${quote(app)} und verbinden Sie die App erneut.`,
    }),
    app_refused: ({ app, business, reason }) => ({
      title: 'App abgelehnt',
      action: 'Entscheidung ansehen',
      sentence: `Ein Inhaber von ${quote(business)} hat Ihre Anfrage abgelehnt, ${quote(app)} zu verbinden.`,
      advice: reason
        ? `Begründung: ${quote(reason)}`
        : 'Es wurde keine Begründung angegeben. Fragen Sie nach, wenn Sie die App für Ihre Arbeit brauchen.',
    }),
    connection_transferred: ({ app, business, from }) => ({
      title: 'Sie sind für eine Verbindung verantwortlich',
      action: 'Verbundene Apps ansehen',
      sentence: `${quote(app)} ist für ${quote(business)} verbunden. Bisher war ${quote(from)} für die Verbindung verantwortlich, jetzt sind Sie es.`,
      advice:
        'Unter „Connected apps“ sehen Sie, was sie darf. Trennen Sie sie, wenn das Unternehmen sie nicht mehr braucht.',
    }),
    handover_offered: ({ app, business, from, by }) => ({
      title: 'Sie sollen die Verantwortung für eine Verbindung übernehmen',
      action: 'Annehmen oder ablehnen',
      sentence: `${quote(by)} bittet Sie, die Verantwortung für die Verbindung von ${quote(app)} mit ${quote(business)} zu übernehmen. Bis Sie annehmen, liegt sie bei ${quote(from)}.`,
      advice:
        'Auf der Seite sehen Sie, was die App darf. Wenn Sie nicht innerhalb von 7 Tagen antworten, ändert sich nichts.',
    }),
    secret_added: ({ app, by }) => ({
      title: 'Secret hinzugefügt',
      action: 'Secrets ansehen',
      sentence: `${by ? quote(by) : 'Ein Betreiber'} hat der App ${quote(app)} ein Secret hinzugefügt.`,
      advice: 'Wenn Sie das nicht erwartet haben, sehen Sie im Audit-Protokoll des Unternehmens nach.',
    }),
    endpoint_disabled: ({ app, host, why }) => {
      const reasons = {
        by_owner: 'Jemand, der die App ändern darf, hat ihn abgeschaltet',
        failing: 'Er war tagelang nicht erreichbar',
        gone: 'Er hat mit 410 Gone geantwortet',
      };
      return {
        title: 'Webhook-Endpunkt abgeschaltet',
        action: 'Endpunkte ansehen',
        sentence: `Der Endpunkt unter ${host} der App ${quote(app)} ist abgeschaltet. Grund: ${reasons[why]}.`,
        advice: 'Seine Ereignisse bleiben eine Weile erhalten. Schalten Sie ihn auf der Seite der App wieder ein.',
      };
    },
    factor_added: ({ passkey }) => ({
      title: 'Neue Anmeldemethode',
      action: 'Anmeldemethoden prüfen',
      sentence: `${passkey ? `Der Passkey ${quote(passkey)}` : 'Die Authenticator-App'} wurde Ihrem Konto hinzugefügt.`,
      advice: NOT_YOU,
    }),
    factor_removed: ({ factor, passkey, by }) => {
      const names = {
        app: 'Die Authenticator-App wurde',
        passkey: `Der Passkey ${quote(passkey)} wurde`,
        all_passkeys: 'Alle Passkeys wurden',
      };
      return {
        title: 'Anmeldemethode entfernt',
        action: 'Anmeldemethoden prüfen',
        sentence: `${names[factor]} von ${by === 'user' ? 'Ihnen' : 'einem Betreiber'} aus Ihrem Konto entfernt.`,
        advice: NOT_YOU,
      };
    },
    recovery_code_used: ({ left }) => ({
      title: 'Wiederherstellungscode verwendet',
      action: 'Anmeldung in zwei Schritten prüfen',
      sentence: `Ein Wiederherstellungscode Ihres Kontos wurde verwendet. Verbleibende Codes: ${left}.`,
      advice: NOT_YOU,
    }),
    recovery_codes_renewed: () => ({
      title: 'Neue Wiederherstellungscodes',
      action: 'Anmeldung in zwei Schritten prüfen',
      sentence: 'Für Ihr Konto wurden neue Wiederherstellungscodes erstellt. Die bisherigen funktionieren nicht mehr.',
      advice: NOT_YOU,
    }),
    password_changed: ({ how, two_step }) => {
      const ways = {
        account_page: 'auf Ihrer Kontoseite',
        by_operator: 'von einem Betreiber',
        user: 'mit einem Link, den ein Inhaber Ihres Unternehmens erstellt hat,',
        platform: 'mit einem Link, den ein Plattform-Administrator erstellt hat,',
        operator: 'mit einem Link, den ein Betreiber erstellt hat,',
        mail: 'mit einem Link, der Ihnen per E-Mail gesendet wurde,',
      };
      const more = two_step === 'removed' ? ', und die Anmeldung in zwei Schritten wurde entfernt' : '';
      return {
        title: 'Passwort geändert',
        action: 'Kontoseite öffnen',
        sentence: `Ihr Passwort wurde ${ways[how]} geändert${more}.`,
        advice:
          'Wenn Sie das nicht waren, fordern Sie auf der Anmeldeseite einen Link an, mit dem Sie ein neues Passwort festlegen können, oder fragen Sie einen Inhaber Ihres Unternehmens.',
      };
    },
  },
};
