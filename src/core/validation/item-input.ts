import { IsObject, IsUUID } from 'class-validator';
import { Nested } from './nested.js';
import type { InputClass } from './validate-input.js';

/** The input of a tool that takes only an id. Extend it under its own name: `class FileIdInput extends IdInput {}`. */
export class IdInput {
  @IsUUID()
  id: string;
}

/**
 * A class that describes `{data}`, the input of a CREATE tool, to be extended under a name of its own:
 * `class WebhookCreateInput extends CreateOf(WebhookData) {}`.
 */
export function CreateOf<T extends object>(type: InputClass<T>): InputClass<{ data: T }> {
  class Create {
    @IsObject()
    @Nested(() => type)
    data: T;
  }
  return Create;
}

/** A class that describes `{id, data}`, the input of an UPDATE tool, to be extended under a name of its own. */
export function UpdateOf<T extends object>(type: InputClass<T>): InputClass<{ id: string; data: T }> {
  class Update {
    @IsUUID()
    id: string;

    @IsObject()
    @Nested(() => type)
    data: T;
  }
  return Update;
}
