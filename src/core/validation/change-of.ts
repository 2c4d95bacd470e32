import { getMetadataStorage } from 'class-validator';
import { MayBeAbsent } from './presence.js';
import type { InputClass } from './validate-input.js';

/**
 * A class with the properties and rules of another one, each of which can be absent, to be extended under a name of its
 * own: `class WebhookChange extends ChangeOf(WebhookData) {}`.
 */
export function ChangeOf<T extends object>(data: InputClass<T>): InputClass<Partial<T>> {
  class Change extends (data as InputClass) {}
  const rules = getMetadataStorage().getTargetValidationMetadatas(data, '', false, false);
  for (const property of new Set(rules.map(({ propertyName }) => propertyName))) {
    MayBeAbsent()(Change.prototype, property);
  }
  return Change as InputClass<Partial<T>>;
}
