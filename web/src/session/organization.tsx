import { createContext, type ReactNode, useContext, useMemo } from 'react';
import { Signalbox } from '../../../packages/client/src/signalbox.js';
import { watchedFetch } from './reachability.js';
import type { Membership } from './session.js';
import { type Credential, useSession } from './session-context.js';

/** The organization in the address, and a client for its API. */
export interface Organization extends Membership {
  readonly client: Signalbox;
  /** The origin of the service, such as `https://signalbox.example`. */
  readonly url: string;
  /** `fetch` with the caller's credential, for what the client has no method for. */
  readonly fetch: typeof fetch;
  /** True if the caller can use this management tool (or permission without a tool). */
  readonly may: (tool: string) => boolean;
}

const Context = createContext<Organization | undefined>(undefined);

/** The organization of the view. Call it below `OrganizationProvider`. */
export function useOrganization(): Organization {
  const organization = useContext(Context);
  if (organization === undefined) throw new Error('There is no OrganizationProvider above.');
  return organization;
}

/** Gives its children a client for the organization. */
export function OrganizationProvider({
  membership,
  children,
}: {
  readonly membership: Membership;
  readonly children: ReactNode;
}) {
  const { credential } = useSession();
  const value = useMemo((): Organization => {
    const url = location.origin;
    const signedFetch = fetchWith(credential);
    const self = membership.permissions['self'] ?? [];
    return {
      ...membership,
      url,
      fetch: signedFetch,
      client: new Signalbox({ url, org: membership.slug, fetch: signedFetch, retries: 2 }),
      may: (tool) => self.includes('*') || self.includes(tool),
    };
  }, [membership, credential]);
  return <Context value={value}>{children}</Context>;
}

function fetchWith(credential: Credential): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    if (credential.kind === 'browser') headers.set('x-csrf-token', credential.csrfToken);
    else headers.set('authorization', `Bearer ${credential.apiKey}`);
    return watchedFetch(input, {
      ...init,
      headers,
      credentials: credential.kind === 'browser' ? 'same-origin' : 'omit',
    });
  };
}
