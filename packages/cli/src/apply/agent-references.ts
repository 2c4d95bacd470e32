import { Refusal } from '../service.js';
import type { Manifest } from './manifest.js';
import type { Section } from './section.js';

/** The agents that the entries of a section refer to by title. */
export class AgentReferences {
  constructor(
    private readonly section: string,
    private readonly agents: Section,
  ) {}

  /**
   * A check of one title of an entry, which throws a `Refusal` if neither the service nor the manifest has the agent.
   */
  async checkFor(manifest: Manifest): Promise<(entry: string, title: string) => void> {
    const existing = await this.agents.existing();
    return (entry, title) => {
      if (!existing.has(title) && !manifest.get(this.agents.name)?.has(title)) throw this.unknown(entry, title);
    };
  }

  /** The titles of the service's agents by their ids. */
  async titles(): Promise<ReadonlyMap<string, string>> {
    return new Map([...(await this.agents.existing())].map(([title, { id }]) => [id, title]));
  }

  /** The id of the agent with each title. @throws Refusal if the service has no such agent */
  async idOf(entry: string): Promise<(title: string) => string> {
    const existing = await this.agents.existing();
    return (title) => {
      const id = existing.get(title)?.id;
      if (id === undefined) throw this.unknown(entry, title);
      return id;
    };
  }

  private unknown(entry: string, title: string): Refusal {
    return new Refusal(`${this.section}.${entry}: there is no agent "${title}".`);
  }
}
