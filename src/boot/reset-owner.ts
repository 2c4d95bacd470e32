/**
 * `npm run owner:reset -- <org>`: prints a new link to the setup page of an organization, which makes an owner or sets
 * the password of a member. Replaces the former link. Uses the database as `npm run vault:rotate` does.
 */
import { ConfigError } from '../core/config/env-reader.js';
import { administrate, required } from './administration.js';

await administrate(async ({ baseUrl, organizations, ownership }) => {
  const slug = required(process.argv[2], 'npm run owner:reset -- <org>');
  const organization = await organizations.findBySlug(slug);
  if (organization === null) throw new ConfigError(`There is no organization with the slug ${slug}.`);
  return `${baseUrl}/setup?token=${await ownership.createSetupToken(organization.id)}`;
});
