/** Addresses that never leave the machine. What is public must be https; these need not be. */
export function isLoopbackHost(hostname: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}
