/** What the APIs of OpenAI, Azure, Anthropic and Mistral take in messages and in the results of tools. */
export const IMAGES_AND_PDF = /^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf)$/;
