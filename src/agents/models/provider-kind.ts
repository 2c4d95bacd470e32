/** A provider's protocol: the name of a class with `@ModelKind`. */
export type ProviderKind = string;

/** The names of all kinds that this process has loaded. `ModelKinds` has those that the application offers. */
export const PROVIDER_KINDS: ProviderKind[] = [];
