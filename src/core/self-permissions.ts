/**
 * The names that the list `self` of a permission map can contain, next to `*`. Process-wide, as the metadata of
 * decorators is: decorators declare their names when their file is loaded.
 */
const declared = new Set<string>();

/**
 * Declares permissions for the list `self`. `@ManagementTool` and `@RequirePermission` do it for theirs; a permission
 * that only code checks (`requirePermission`) has to be declared here, otherwise no key or role can hold it.
 */
export function declarePermissions<Name extends string>(...names: readonly Name[]): void {
  for (const name of names) declared.add(name);
}

export function isDeclaredPermission(name: string): boolean {
  return declared.has(name);
}

export function declaredPermissions(): Iterable<string> {
  return declared;
}
