/** Checks of the suite that the service does not pass as a client, and why. */
interface ClientException {
  readonly reason: string;
  /** Exactly the checks that do not pass. */
  readonly checks: readonly string[];
}

const REVISIONS = ['2025-11-25', '2026-07-28'];
const EXTENSION = ['extension'];

/** Every `auth` scenario of the suite, with the protocol revisions at which it applies. */
export const AUTH_SCENARIOS: Readonly<Record<string, readonly string[]>> = {
  'auth/metadata-default': REVISIONS,
  'auth/metadata-var1': REVISIONS,
  'auth/metadata-var2': REVISIONS,
  'auth/metadata-var3': REVISIONS,
  'auth/basic-cimd': REVISIONS,
  'auth/scope-from-www-authenticate': REVISIONS,
  'auth/scope-from-scopes-supported': REVISIONS,
  'auth/scope-omitted-when-undefined': REVISIONS,
  'auth/scope-step-up': REVISIONS,
  'auth/scope-retry-limit': REVISIONS,
  'auth/token-endpoint-auth-basic': ['2025-06-18', ...REVISIONS],
  'auth/token-endpoint-auth-post': ['2025-06-18', ...REVISIONS],
  'auth/token-endpoint-auth-none': ['2025-06-18', ...REVISIONS],
  'auth/pre-registration': REVISIONS,
  'auth/2025-03-26-oauth-metadata-backcompat': ['2025-03-26'],
  'auth/2025-03-26-oauth-endpoint-fallback': ['2025-03-26'],
  'auth/resource-mismatch': ['2026-07-28'],
  'auth/offline-access-scope': ['2026-07-28'],
  'auth/offline-access-not-supported': ['2026-07-28'],
  'auth/authorization-server-migration': ['2026-07-28'],
  'auth/iss-supported': ['2026-07-28'],
  'auth/iss-not-advertised': ['2026-07-28'],
  'auth/iss-supported-missing': ['2026-07-28'],
  'auth/iss-wrong-issuer': ['2026-07-28'],
  'auth/iss-unexpected': ['2026-07-28'],
  'auth/iss-normalized': ['2026-07-28'],
  'auth/metadata-issuer-mismatch': ['2026-07-28'],
  'auth/client-credentials-jwt': EXTENSION,
  'auth/client-credentials-basic': EXTENSION,
  'auth/enterprise-managed-authorization': EXTENSION,
  'auth/dpop': EXTENSION,
  'auth/dpop-nonce': EXTENSION,
  'auth/wif-jwt-bearer': EXTENSION,
};

/** Where the suite lets the client give up, because it must not go on. */
export const MAY_GIVE_UP: ReadonlySet<string> = new Set([
  'auth/scope-retry-limit',
  'auth/resource-mismatch',
  'auth/iss-supported-missing',
  'auth/iss-wrong-issuer',
  'auth/iss-unexpected',
  'auth/iss-normalized',
  'auth/metadata-issuer-mismatch',
]);

const NO_DPOP = 'An extension. The service uses bearer tokens only.';
const DPOP_CHECKS = [
  'sep-1932-client-token-request-proof',
  'sep-1932-client-dpop-auth-scheme',
  'sep-1932-client-fresh-proof',
];

/** By scenario. */
export const AUTH_EXCEPTIONS: Readonly<Record<string, ClientException>> = {
  'auth/basic-cimd': {
    reason:
      "The suite accepts one client id only, the address of its example client's metadata document. The service presents its own.",
    checks: ['cimd-client-id-used'],
  },
  'auth/wif-jwt-bearer': {
    reason: 'An extension. The service has no identity from a workload platform that it could present.',
    checks: ['wif-grant-type'],
  },
  'auth/dpop': { reason: NO_DPOP, checks: DPOP_CHECKS },
  'auth/dpop-nonce': {
    reason: NO_DPOP,
    checks: [...DPOP_CHECKS, 'sep-1932-client-as-nonce', 'sep-1932-client-rs-nonce'],
  },
};
