/** The revisions of MCP that have sessions. */
export const LEGACY_VERSIONS: ReadonlySet<string> = new Set(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']);
export const LATEST_LEGACY_VERSION = '2025-11-25';

/** The revisions without sessions; their requests name the revision in a header and in the body. */
export const MODERN_VERSIONS: readonly string[] = ['2026-07-28'];
