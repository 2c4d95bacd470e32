import { IsString, Length, Matches } from 'class-validator';
import type { PermissionMap } from '../core/permissions.js';

/** PostgreSQL cannot store the others. */
const STORABLE = /^[^\x00]*$/u;

/** The body of a sign-in. */
export class ConsoleSignIn {
  @IsString()
  @Length(1, 254)
  @Matches(STORABLE, { message: 'must not contain NUL characters' })
  email: string;

  @IsString()
  @Length(1, 1024)
  @Matches(STORABLE, { message: 'must not contain NUL characters' })
  password: string;
}

/** An organization that the caller can work in. */
interface ConsoleOrganization {
  readonly slug: string;
  readonly name: string;
  /** Of the person; null for a key or a token. */
  readonly role: string | null;
  /** What the caller may do in the organization. */
  readonly permissions: PermissionMap;
}

/** Who uses the console, and what it needs to go on. */
export interface ConsoleSession {
  /** For the header `x-csrf-token` of requests with the cookies of this response. */
  readonly csrf_token: string;
  /** The OpenID issuer of the service, and the path where a sign-in with it starts; both null without one. */
  readonly sign_in: { readonly provider: string | null; readonly provider_path: string | null };
  /** The signed-in person, or the person of the presented key; null for nobody. */
  readonly user: { readonly id: string; readonly email: string; readonly name: string } | null;
  readonly organizations: readonly ConsoleOrganization[];
}
