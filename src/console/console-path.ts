/** Where the console is, below `BASE_URL`. */
export const CONSOLE_PATH = '/console';
