import { Length, Matches } from 'class-validator';
import { DomainError } from '../../core/domain-error.js';

export const MAX_SLUG_LENGTH = 63;
/** Leaves room for a number. */
const MAX_DERIVED_LENGTH = 52;

/** Words of a-z and 0-9, joined by -. What looks like an id is no slug: agents are found by either. */
const SLUG = /^(?![0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

export function isSlug(text: string): boolean {
  return SLUG.test(text);
}

/** A property that is the slug of an agent. */
export function IsAgentSlug(): PropertyDecorator {
  const message = 'must be words of a-z and 0-9, joined by -, and no UUID';
  return (target, property) => {
    Length(1, MAX_SLUG_LENGTH)(target, property as string);
    Matches(SLUG, { message })(target, property as string);
  };
}

/** The title as a slug, which other agents can have too. */
export function slugFromTitle(title: string): string {
  const words = titleSlug(title, MAX_DERIVED_LENGTH);
  if (words === '') return 'agent';
  return isSlug(words) ? words : `agent-${words}`;
}

export function slugTaken(): DomainError {
  const message = 'Another agent of the organization has this slug.';
  return new DomainError('conflict', message, [{ path: 'data.slug', code: 'conflict', message }]);
}

/**
 * The words of a title in a-z and 0-9, joined by -. Empty if the title has none.
 * @param maxLength in characters
 */
export function titleSlug(title: string, maxLength: number): string {
  return title
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, maxLength)
    .replace(/-$/, '');
}
