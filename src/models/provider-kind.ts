/** Which protocol a provider speaks: the name of a class with `@ModelKind`. */
export type ProviderKind = string;

/** The names of all kinds that this process has loaded. What an application offers is in `ModelKinds`. */
export const PROVIDER_KINDS: ProviderKind[] = [];
