/**
 * `npm run password:reset -- <email>`: prints a link that sets the password of an account once, within 24 hours.
 * Everything that was signed in or made with the account ends, so that the owner of the address gets it back from
 * somebody who has taken it. Uses the database as `npm run vault:rotate` does.
 */
import { ConfigError } from '../core/config/env-reader.js';
import { administrate, required } from './administration.js';

await administrate(async ({ baseUrl, resets }) => {
  const email = required(process.argv[2], 'npm run password:reset -- <email>');
  const token = await resets.createToken(email);
  if (token === undefined) throw new ConfigError(`There is no account with the address ${email}.`);
  return `${baseUrl}/reset?token=${token}`;
});
