// The page around the report: takes files and text, starts the worker that reads them, and shows its report in a frame that may do
// nothing but run the report's own script.
"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const show = (id, shown) => { find(id).hidden = !shown; };
  const tell = (text) => { find("status").textContent = text; };
  const title = document.title;
  const megabytes = (bytes) => bytes < 1e7 ? (bytes / 1e6).toFixed(1) : String(Math.round(bytes / 1e6));

  // --- The worker: one for each case, so that each begins with empty memory ------------------------------------------

  let program, worker, used = false, started = false, unable = false;

  // What the page contains compressed.
  function unpack(id) {
    const packed = Uint8Array.from(atob(find(id).textContent), (character) => character.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  }

  // The address of the worker's program.
  async function unpackProgram() {
    return URL.createObjectURL(new Blob([await unpack("engine").blob()], { type: "text/javascript" }));
  }

  find("about").addEventListener("toggle", async () => { find("licences").textContent = await unpack("libraries").text(); },
                                 { once: true });

  function startWorker() {
    worker?.terminate();
    worker = new Worker(program);
    used = false;
    worker.onmessage = ({ data }) => receive(data);
    // A browser that cannot run the program at all would fail again each time.
    worker.onerror = (event) => started ? fail(event.message || "the browser did not start the worker")
                                        : giveUp("this browser cannot run the program of this page");
  }

  function receive(answer) {
    if (answer.version !== undefined) {
      started = true;
      find("start").dataset.version = answer.version;
      find("version").textContent = answer.version;
    }
    if (answer.read !== undefined) showProgress(answer.read);
    if (answer.problem !== undefined) refuse(answer.problem);
    if (answer.failure !== undefined) fail(answer.failure);
    if (answer.page !== undefined) showReport(answer.page);
    if (answer.format !== undefined) saves[answer.format](answer.text);
  }

  // --- The case: files, each with its path in it ----------------------------------------------------------------------

  let files = [], size = 0;
  const sum = (sizes) => sizes.reduce((total, each) => total + each, 0);

  // Two files of one name are two logs: the second becomes "train (2).log".
  function freeName(name, taken) {
    if (!taken.has(name)) return name;
    const dot = name.lastIndexOf("."), stem = dot > name.lastIndexOf("/") + 1 ? dot : name.length;
    for (let number = 2; ; ++number) {
      const other = `${name.slice(0, stem)} (${number})${name.slice(stem)}`;
      if (!taken.has(other)) return other;
    }
  }

  const mostUnpacked = 32e6; // bytes of a case; the program unpacks the rest piece by piece, and holds none of it

  // The text of a gzip file by the browser's own decompressor; null of other files, and of what it does not read to the end: damaged
  // ones, and those of several parts, of which it gives the first.
  async function gunzip(file, most) {
    const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
    if (first !== 0x1f || second !== 0x8b) return null;
    const reader = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader(), pieces = [];
    for (let left = most; left >= 0; ) {
      const { done, value } = await reader.read();
      if (done) return new Blob(pieces);
      pieces.push(value);
      left -= value.length;
    }
    reader.cancel();
    return null;
  }

  async function analyze(added, alone = true) {
    if (added.length === 0 || !await ready || unable) return;
    if (alone) files = [];
    let room = mostUnpacked - sum(files.map(({ text }) => text?.size ?? 0));
    for (const file of added) {
      file.text = await gunzip(file.data, room).catch(() => null);
      room -= file.text?.size ?? 0;
    }
    const taken = new Set(files.map(({ name }) => name));
    for (const { name, data, text } of added) {
      files.push({ name: freeName(name, taken), data, text });
      taken.add(files.at(-1).name);
    }
    size = sum(files.map(({ data, text }) => (text ?? data).size));
    if (used) startWorker();
    used = true;
    find("problem").textContent = "";
    for (const id of ["start", "tools", "report"]) show(id, false);
    show("cancel", true);
    tell(`Reading ${files.length === 1 ? files[0].name : `${files.length} files`}, ${megabytes(sum(files.map(({ data }) => data.size)))} MB`);
    // A folder is named once, as on a command line.
    worker.postMessage({ task: "analyze", files, words: [...new Set(files.map(({ name }) => name.split("/")[0]))] });
  }

  function showProgress(read) {
    show("progress", true);
    find("progress").value = size > 0 ? Math.min(read / size, 1) : 0;
  }

  function endWork() {
    show("progress", false);
    show("cancel", false);
    tell("");
  }

  function showStart() {
    endWork();
    document.title = title;
    for (const id of ["tools", "report"]) show(id, false);
    show("start", true);
    startWorker();
  }

  function refuse(problem) {
    showStart();
    find("problem").textContent = problem;
  }

  function giveUp(why) {
    unable = true;
    worker?.terminate();
    endWork();
    show("start", true);
    find("problem").textContent = `${why}.\nThe program on the command line reads the same files.`;
  }

  function fail(why) {
    refuse(`The analysis stopped: ${why}.\nThe program on the command line reads the same files.`);
  }

  // --- The report -----------------------------------------------------------------------------------------------------

  let page = "", address = "";

  function showReport(text) {
    endWork();
    page = text;
    URL.revokeObjectURL(address);
    address = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    find("report").src = address;
    document.title = new DOMParser().parseFromString(page, "text/html").title;
    for (const id of ["tools", "report"]) show(id, true);
    find("report").focus();
  }

  function save(name, type, text) {
    const link = document.createElement("a"), url = URL.createObjectURL(new Blob([text], { type }));
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  const saves = { json: (text) => save("oomdoctor.json", "application/json", text) };
  find("save-page").addEventListener("click", () => save("oomdoctor-report.html", "text/html", page));
  find("save-json").addEventListener("click", () => worker.postMessage({ task: "write", format: "json" }));

  // --- What the user gives ---------------------------------------------------------------------------------------------

  let alone = true; // whether the chosen files begin a new case

  const chosen = (list) => [...list].map((data) => ({ name: data.webkitRelativePath || data.name, data }));

  for (const id of ["files", "folder"])
    find(id).addEventListener("change", ({ target }) => {
      const added = chosen(target.files);
      target.value = "";
      analyze(added, alone);
    });
  const choose = (input, begins) => () => {
    alone = begins;
    find(input).click();
  };
  find("choose").addEventListener("click", choose("files", true));
  find("choose-folder").addEventListener("click", choose("folder", true));
  find("more").addEventListener("click", choose("files", false));
  for (const id of ["new", "cancel"]) find(id).addEventListener("click", () => { showStart(); find("choose").focus(); });

  const ask = (act) => new Promise((take, refused) => act(take, refused));

  // A browser shows a dropped folder by a handle, by an entry or by both. In a page from a disk Chromium reads only handles.
  async function readHandle(handle, path) {
    if (handle.kind === "file") return [{ name: path, data: await handle.getFile() }];
    const inside = [];
    for await (const each of handle.values()) inside.push(...await readHandle(each, `${path}/${each.name}`));
    return inside;
  }

  async function readEntry(entry, path) {
    if (entry.isFile) return [{ name: path, data: await ask((take, refused) => entry.file(take, refused)) }];
    const reader = entry.createReader(), inside = [];
    for (;;) { // a reader gives some of the entries at a time, and none at the end
      const entries = await ask((take, refused) => reader.readEntries(take, refused));
      if (entries.length === 0) return inside;
      for (const each of entries) inside.push(...await readEntry(each, `${path}/${each.name}`));
    }
  }

  async function dropped(transfer) {
    // All have to be requested before the first wait: the browser then takes the data back.
    const items = [...transfer.items].filter(({ kind }) => kind === "file").map((item) => (
      { handle: item.getAsFileSystemHandle?.().catch(() => null), entry: item.webkitGetAsEntry?.(), data: item.getAsFile() }));
    if (items.length === 0) {
      const text = transfer.getData("text/plain");
      return text ? [pasted(text)] : [];
    }
    const all = [];
    for (const { handle, entry, data } of items) {
      const folder = entry?.isDirectory ? await handle : null;
      if (folder) all.push(...await readHandle(folder, folder.name));
      else if (entry?.isDirectory) all.push(...await readEntry(entry, entry.name));
      else if (data) all.push({ name: data.name, data });
    }
    return all;
  }

  const pasted = (text) => ({ name: "pasted text", data: new Blob([text]) });
  const isShown = () => !find("report").hidden;

  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("over");
  });
  addEventListener("dragleave", () => document.body.classList.remove("over"));
  addEventListener("drop", async (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    try {
      analyze(await dropped(event.dataTransfer), !isShown());
    } catch {
      refuse("The browser did not open the folder.\nChoose it with the button.");
    }
  });
  addEventListener("paste", (event) => {
    if (event.target === find("text") && event.clipboardData.files.length === 0) return;
    event.preventDefault();
    const text = event.clipboardData.getData("text/plain"), list = chosen(event.clipboardData.files);
    analyze(list.length > 0 ? list : text ? [pasted(text)] : [], !isShown());
  });
  find("paste").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = find("text").value;
    if (text.trim()) analyze([pasted(text)]);
  });

  const ready = unpackProgram().then((address) => {
    program = address;
    startWorker();
    return true;
  }).catch(() => {
    giveUp("this browser is too old for this page");
    return false;
  });
})();
