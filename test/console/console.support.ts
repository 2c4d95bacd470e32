import type { Response } from 'supertest';
import type { ConsoleSession } from '../../src/console/console-session.dto.js';
import { addPerson, Browser, newEmail, PASSWORD } from '../identity/sign-in/people.js';
import type { TestService } from '../support/service.js';

const SESSION_PATH = '/console/session';

/** The console in a browser: sends the cookies of the browser, and the CSRF token that it got with the session. */
export class ConsoleBrowser {
  readonly browser: Browser;
  csrfToken = '';

  constructor(url: string) {
    this.browser = new Browser(url);
  }

  /** The headers with which a script calls the service. */
  get headers(): Record<string, string> {
    return { 'x-csrf-token': this.csrfToken };
  }

  /** The same with the cookies, for requests that do not go through `browser`. */
  get credentials(): Record<string, string> {
    const cookie = [...this.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { ...this.headers, cookie };
  }

  async readSession(headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.#keep(await this.browser.send('get', SESSION_PATH, { headers }));
  }

  async signIn(email: string, password: string = PASSWORD): Promise<Response> {
    if (this.csrfToken === '') await this.readSession();
    const body = { email, password };
    return this.#keep(await this.browser.send('post', SESSION_PATH, { body, headers: this.headers }));
  }

  signOut(): Promise<Response> {
    return this.browser.send('delete', SESSION_PATH, { headers: this.headers });
  }

  /** Calls a management tool as the signed-in person. */
  tool(name: string, body: object = {}, headers: Readonly<Record<string, string>> = this.headers): Promise<Response> {
    return this.browser.send('post', `/api/default/tools/${name}`, { body, headers });
  }

  #keep(response: Response): Response {
    const { csrf_token: token } = response.body as Partial<ConsoleSession>;
    if (token !== undefined) this.csrfToken = token;
    return response;
  }
}

/** A new person of the organization, signed in with a browser. */
export async function signedIn(service: TestService, { role = 'owner', name = 'Ada' } = {}) {
  const email = newEmail();
  const id = await addPerson(service, { email, name, role });
  const person = new ConsoleBrowser(service.url);
  const answer = await person.signIn(email);
  if (answer.status !== 200) throw new Error(`The sign-in was answered with ${answer.status}.`);
  return { id, email, name, person };
}
