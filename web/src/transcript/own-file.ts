import { useState } from 'react';
import { useTool } from '../api/queries.js';
import { useOrganization } from '../session/organization.js';

/** A file as a part of a message, or of the result of a tool, names it. */
export interface NamedFile {
  readonly mediaType: string;
  readonly filename?: string | undefined;
  readonly url: string;
}

/** The address of a file of this service: relative, perhaps with a signature. */
const OWN_ADDRESS =
  /^\/api\/(?<org>[^/?#%]+)\/files\/(?<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?<signed>\/content\?expires=\d+&signature=[\w-]+)?$/;

/** The file of the organization that an address names; undefined for every other address. */
export function ownFileOf(url: string, org: string): { readonly id: string; readonly isSigned: boolean } | undefined {
  const { org: named, id, signed } = OWN_ADDRESS.exec(url)?.groups ?? {};
  return id === undefined || named !== org ? undefined : { id, isSigned: signed !== undefined };
}

/** An answer of the service that is younger has an address that opens the file for some minutes yet. */
const FRESH_MS = 10 * 60_000;

/** What is known of a file of the organization. */
interface OwnFile {
  /** A signed address that opens it; undefined while there is none. */
  readonly address: string | undefined;
  /** In bytes; undefined until the service was asked. */
  readonly size: number | undefined;
  /** Why there is no address; undefined while the service is asked. */
  readonly fault: string | undefined;
  /** Whether the address is one that the service was asked for. */
  readonly isRenewed: boolean;
  /** Asks the service for an address, since that of the part opens nothing. */
  readonly renew: () => void;
}

/**
 * Where a file of the organization can be read. Transcripts have addresses that open files for 15 minutes; other parts,
 * and those of a page that is open for longer, need one from the service.
 * @param signed the address of the part, if it is a signed one
 * @param isRead true to ask the service in any case
 */
export function useOwnFile(id: string, signed: string | undefined, { isRead = false } = {}): OwnFile {
  const { may } = useOrganization();
  const mayRead = may('FILE_GET');
  const [isRenewed, setIsRenewed] = useState(signed === undefined);
  const query = useTool('FILE_GET', { id }, { isEnabled: mayRead && (isRead || isRenewed) });
  const item = query.data?.item;
  const isFresh = Date.now() - query.dataUpdatedAt < FRESH_MS;
  const renewed = isFresh ? (item?.signed_url ?? undefined) : undefined;
  const isDeleted = item?.signed_url === null;
  const missing = signed === undefined ? 'Your role or key does not include FILE_GET.' : 'Reload the page to see it.';
  return {
    address: renewed ?? (isRenewed || isDeleted ? undefined : signed),
    size: item?.size,
    fault: isDeleted ? 'The file was deleted.' : mayRead ? query.error?.message : missing,
    isRenewed,
    renew: () => setIsRenewed(true),
  };
}
