import { compilePlain, type Validate } from './schema-validator.js';

/** What a validator is compiled from and kept with. */
export interface PlainSchema {
  readonly form: object;
  validate?: Validate;
  /** Used since it was last looked at for making room. */
  isInUse: boolean;
}

/**
 * Compiles plain schemas when they are first used, and bounds how many stay compiled: one that has not been used for a
 * whole round makes room for a new one, and is compiled again should it come back.
 */
export class PlainValidators {
  private readonly compiled = new Set<PlainSchema>();

  constructor(private readonly capacity: number) {}

  of(schema: PlainSchema): Validate {
    const { validate } = schema;
    if (validate === undefined) return this.compile(schema);
    schema.isInUse = true;
    return validate;
  }

  private compile(schema: PlainSchema): Validate {
    const validate = compilePlain(schema.form);
    if (this.compiled.size >= this.capacity) this.makeRoom();
    schema.validate = validate;
    this.compiled.add(schema);
    return validate;
  }

  /** The "clock": whoever was used gets a second round. */
  private makeRoom(): void {
    for (const schema of this.compiled) {
      this.compiled.delete(schema);
      if (!schema.isInUse) {
        schema.validate = undefined;
        return;
      }
      schema.isInUse = false;
      this.compiled.add(schema);
    }
  }
}
