import { Injectable } from '@nestjs/common';
import { DomainError, faultAt, refuseFaults } from '../core/domain-error.js';
import type { Principal } from '../core/principal.js';
import { requirePermission } from '../core/require-permission.js';
import { declarePermissions } from '../core/permissions.js';
import { AppConfig } from '../core/config/app-config.js';
import { refuseEnvironmentForNewProgram, unmasked } from './kept-secrets.js';
import type { StdioInput } from './connection.dto.js';
import type { ConnectionEntity } from './connection.entity.js';
import type { ConnectionColumns } from './connection.repository.js';
import { ConnectionSecrets } from './connection-secrets.js';
import { environmentFaults, type VariableRule } from './environment-faults.js';

/** The management permission that lets a caller decide which programs run on the server. */
const PERMISSION = 'CONNECTION_STDIO';
declarePermissions(PERMISSION);
const WHY_REFUSED = `A STDIO connection runs a program on the server; the caller needs the permission ${PERMISSION}.`;
const WHY_NO_PROGRAMS =
  'Programs are code on the server: only organizations that the operator names in STDIO_ORGANIZATIONS can have ' +
  'STDIO connections.';

const NAMES = { fold: (name: string) => name, pathOf: variablePath };

/**
 * Turns the program of a STDIO connection into columns, for callers with the permission to run programs on the server.
 */
@Injectable()
export class StdioEditor {
  private readonly organizations: readonly string[];
  private readonly commands: readonly string[];
  private readonly variables: VariableRule;

  constructor(
    private readonly secrets: ConnectionSecrets,
    config: AppConfig,
  ) {
    this.organizations = config.settings.stdioOrganizations;
    this.commands = config.settings.stdioCommands;
    this.variables = config.settings.stdioVariables;
  }

  /**
   * @param stored the program to replace; undefined for a new connection
   * @throws DomainError `permission_denied` or `invalid_request`
   */
  columns(
    id: string,
    stored: ConnectionEntity | undefined,
    { command, args = [], env = {}, cwd = null }: StdioInput,
    caller: Principal,
  ): ConnectionColumns {
    requirePermission(caller, PERMISSION, WHY_REFUSED);
    if (!this.organizations.includes(caller.organization.slug))
      throw new DomainError('permission_denied', WHY_NO_PROGRAMS);
    this.refuseCommand(command);
    const program = { command, args, cwd };
    if (stored !== undefined) refuseEnvironmentForNewProgram(stored, program, env);
    const complete = unmasked(env, () => this.secrets.openStdioEnv(id, stored?.stdioEnv ?? null), NAMES);
    this.refuseFaulty(complete);
    const names = Object.keys(complete);
    return {
      stdio: program,
      stdioEnv: names.length === 0 ? null : this.secrets.sealStdioEnv(id, complete),
      stdioEnvNames: names,
    };
  }

  private refuseCommand(command: string): void {
    if (this.commands.includes(command)) return;
    const message = 'This service does not allow this command; STDIO_COMMANDS lists the allowed commands.';
    throw faultAt('data.stdio.command', 'command_refused', message);
  }

  private refuseFaulty(env: Readonly<Record<string, string>>): void {
    const faults = environmentFaults(env, this.variables);
    const code = 'variable_refused';
    refuseFaults(faults.map(({ name, message }) => ({ path: variablePath(name), code, message })));
  }
}

/** The path includes only plain names: other text could be a secret pasted into the wrong place. */
function variablePath(name: string | null): string {
  return name !== null && /^\w{1,128}$/.test(name) ? `data.stdio.env.${name}` : 'data.stdio.env';
}
