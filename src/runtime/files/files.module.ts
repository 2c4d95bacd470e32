import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { AppConfig } from '../../core/config/app-config.js';
import { LimitsModule } from '../../platform/limits/limits.module.js';
import { FileTelemetry } from '../../platform/telemetry/file-telemetry.js';
import { TelemetryModule } from '../../platform/telemetry/telemetry.module.js';
import { AnswerFiles } from './answer-files.js';
import { FileChunkEntity, FileContentEntity, FileEntity, MessageFileEntity } from './file.entity.js';
import { FileLinks } from './file-links.js';
import { FileRepository } from './file.repository.js';
import { FileService } from './file.service.js';
import { FileStore, ObservedFileStore } from './file-store.js';
import { FileTools } from './file.tools.js';
import { FileUploads } from './file-uploads.js';
import { FilesController } from './files.controller.js';
import { MessageFiles } from './message-files.js';
import { ModelFiles } from './model-files.js';
import { PostgresFileStore } from './postgres-file-store.js';

async function openStore(
  { settings }: AppConfig,
  database: DataSource,
  telemetry: FileTelemetry,
): Promise<ObservedFileStore> {
  if (settings.filesS3 === undefined) {
    return new ObservedFileStore(new PostgresFileStore(database), 'postgresql', telemetry);
  }
  const { S3FileStore } = await import('./s3-file-store.js');
  return new ObservedFileStore(new S3FileStore(settings.filesS3), 's3', telemetry);
}

/** What stores files and finds them again. */
@Module({
  imports: [
    TypeOrmModule.forFeature([FileEntity, FileContentEntity, FileChunkEntity, MessageFileEntity]),
    LimitsModule,
    TelemetryModule,
  ],
  providers: [
    { provide: FileStore, inject: [AppConfig, DataSource, FileTelemetry], useFactory: openStore },
    FileRepository,
    FileUploads,
    FileLinks,
    FileService,
    MessageFiles,
    ModelFiles,
    AnswerFiles,
  ],
  exports: [FileStore, FileUploads, FileLinks, FileService, MessageFiles, ModelFiles, AnswerFiles],
})
export class FileRecordsModule {}

/** The endpoints and tools of files. */
@Module({
  imports: [FileRecordsModule, CredentialsModule],
  controllers: [FilesController],
  providers: [FileTools],
})
export class FilesModule {}
