/** The database could not do it now, or could not say that it did. The caller may try again. */
export class StorageUnavailable extends Error {}

/** The address makes no sense, or what it points at cannot be used. */
export class StorageError extends Error {}
