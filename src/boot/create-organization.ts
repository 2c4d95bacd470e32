/**
 * `npm run org:create -- <slug> --owner <email>`: creates an organization and prints the link of an invitation for its
 * owner, which works for 7 days. Uses the database as `npm run vault:rotate` does.
 */
import { parseArgs } from 'node:util';
import { ConfigError } from '../core/config/env-reader.js';
import { isSlug } from '../core/config/settings.js';
import { administrate, required } from './administration.js';

const USAGE = 'npm run org:create -- <slug> --owner <email>';

await administrate(async ({ baseUrl, organizations, ownership }) => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    strict: false,
    options: { owner: { type: 'string' } },
  });
  const slug = required(positionals[0], USAGE);
  const owner = required(typeof values.owner === 'string' ? values.owner : undefined, USAGE);
  if (!isSlug(slug))
    throw new ConfigError('The slug must be 1 to 63 of a-z, 0-9 and -, without a leading or trailing -.');
  if (!/^[^\s@<>"]+@[^\s@<>"]+$/.test(owner)) throw new ConfigError('--owner must be an e-mail address.');
  if ((await organizations.findBySlug(slug)) !== null) {
    throw new ConfigError(
      `The organization ${slug} exists. Run npm run owner:reset -- ${slug} for a link that makes an owner.`,
    );
  }
  const { id } = await organizations.ensure(slug);
  return `${baseUrl}/invitation?token=${await ownership.inviteOwner(id, owner)}`;
});
