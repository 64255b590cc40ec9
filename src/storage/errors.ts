/** The database could not do it now: nothing was written, and the caller may try again. */
export class StorageUnavailable extends Error {}

/** The address makes no sense, or what it points at cannot be used. */
export class StorageRefused extends Error {}
