/** The query of routes without parameters. */
export class NoQuery {}
