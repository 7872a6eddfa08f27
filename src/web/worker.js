// The part of the page that works: it runs in a worker, beside the module that emscripten makes. It gives the user's files to the
// program as a folder, whose files are read piece by piece from the disk when the program asks for them, and never held.
{
  const call = (name, ...texts) => Module.ccall(name, "string", texts.map(() => "string"), texts);
  const patience = 100; // ms between two reports of progress
  let read = 0, told = 0;
  const { port1: sink, port2: nobody } = new MessageChannel();
  nobody.close();

  WORKERFS.stream_ops.read = ({ node }, buffer, offset, length, position) => {
    let piece;
    try {
      piece = WORKERFS.reader.readAsArrayBuffer(node.contents.slice(position, position + length));
    } catch { // the file has changed or gone since the user chose it
      throw new FS.ErrnoError(29); // EIO: the report then says what is lost
    }
    const got = piece.byteLength;
    buffer.set(new Uint8Array(piece), offset);
    sink.postMessage(null, [piece]); // frees it now: as garbage, the pieces of a log of gigabytes take a gigabyte
    read += got;
    if (performance.now() - told > patience) {
      told = performance.now();
      postMessage({ read });
    }
    return got;
  };

  const tasks = {
    // files: [{name, data, text}], a name may have folders, text is what the browser has unpacked; words: what to analyze, as on a
    // command line.
    analyze({ files, words }) {
      const texts = files.filter(({ text }) => text).map(({ name, text }) => ({ name, data: text }));
      for (const [folder, blobs] of [["/case", files], ["/unpacked", texts]]) {
        FS.mkdir(folder);
        FS.mount(WORKERFS, { blobs }, folder);
      }
      FS.chdir("/case");
      for (const word of words) call("oomdoctor_add", word);
      const problem = call("oomdoctor_analyze");
      return problem ? { problem } : { page: call("oomdoctor_write", "html") };
    },
    write({ format }) {
      return { format, text: call("oomdoctor_write", format) };
    },
  };

  onmessage = ({ data }) => {
    try {
      postMessage(tasks[data.task](data));
    } catch (error) {
      postMessage({ failure: String(error) });
    }
  };
  postMessage({ version: call("oomdoctor_version") });
}
