import { Module } from '@nestjs/common';
import { AcmeModels } from './acme-models.js';

@Module({ providers: [AcmeModels] })
export class AcmeModelsModule {}
