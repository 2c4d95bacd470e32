import { Module } from '@nestjs/common';
import { PreparedStatements } from './prepared-statements.js';

@Module({ providers: [PreparedStatements], exports: [PreparedStatements] })
export class PreparedStatementsModule {}
