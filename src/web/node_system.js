// The system of the program for Node.js: its calls for files, folders, terminals and the environment, made of the functions of
// Node.js. emscripten adds them to the module; its own reach a file system in memory. A call returns a number below zero for
// an error, a call of WASI (fd_…) one above.
//
// Offsets in files are numbers of JavaScript, which are exact up to 2^53.
mergeInto(LibraryManager.library, {
  $HOST__deps: ["$ERRNO_CODES"],
  $HOST__postset: "HOST.begin();",
  $HOST: {
    begin: function() {
      HOST.fs = require("fs");
      HOST.tty = require("tty");
      HOST.isWindows = process.platform === "win32";
      // What the program has opened, by its descriptor. A folder has none of the system: its descriptors begin here.
      HOST.opened = new Map();
      HOST.nextFolder = 1 << 20;
      // The standard streams whose bytes the program takes itself.
      HOST.captured = new Map();
    },

    begin_capture: function(descriptor, limit) {
      HOST.captured.set(descriptor, { pieces: [], size: 0, limit });
    },
    capture: function(captured, bytes) {
      captured.pieces.push(bytes.slice(0, Math.max(captured.limit - captured.size, 0)));
      captured.size += bytes.length;
      return bytes.length;
    },
    take_captured: function(descriptor, to) {
      HEAPU8.set(Buffer.concat(HOST.captured.get(descriptor).pieces), to >>> 0);
      HOST.captured.delete(descriptor);
    },

    error: function(code) {
      return Object.assign(new Error(code), { code });
    },
    // Calls `work`. Returns what it returns, or the negative number of the error that it throws.
    call: function(work) {
      try {
        return work();
      } catch (error) {
        if (!error.code) throw error;
        return -(ERRNO_CODES[error.code] || ERRNO_CODES.EIO);
      }
    },
    // For calls of WASI, which return 0, or the number of the error.
    wasi: function(work) {
      return -HOST.call(() => (work(), 0));
    },
    // Waits for the other end of a pipe that does not wait by itself.
    patiently: function(work) {
      for (;;) {
        try {
          return work();
        } catch (error) {
          if (error.code !== "EAGAIN") throw error;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
        }
      }
    },

    // Where a path lies that is relative to an opened folder. A drive of Windows is no relative path.
    at: function(folder, path) {
      path = UTF8ToString(path >>> 0);
      if (path === "") throw HOST.error("ENOENT");
      if (HOST.isWindows) {
        path = path.replace(/^\/(?=[A-Za-z]:)/, "").replace(/^[A-Za-z]:$/, "$&/");
        if (/^[A-Za-z]:/.test(path)) return path;
      }
      if (path[0] === "/" || folder === {{{ cDefine('AT_FDCWD') }}}) return path;
      return HOST.folder(folder).path + "/" + path;
    },
    folder: function(descriptor) {
      const folder = HOST.opened.get(descriptor);
      if (!folder || !folder.entries) throw HOST.error("ENOTDIR");
      return folder;
    },

    open: function(path, flags, mode) {
      const fs = HOST.fs;
      const follows = !(flags & {{{ cDefine('O_NOFOLLOW') }}});
      if (flags & {{{ cDefine('O_DIRECTORY') }}}) {
        if (!(follows ? fs.statSync : fs.lstatSync)(path).isDirectory()) throw HOST.error("ENOTDIR");
        const entries = flags & {{{ cDefine('O_PATH') }}} ? [] : fs.readdirSync(path, { withFileTypes: true });
        HOST.opened.set(HOST.nextFolder, { path, entries, next: 0 });
        return HOST.nextFolder++;
      }
      const names = {
        O_CREAT: {{{ cDefine('O_CREAT') }}}, O_EXCL: {{{ cDefine('O_EXCL') }}}, O_TRUNC: {{{ cDefine('O_TRUNC') }}},
        O_APPEND: {{{ cDefine('O_APPEND') }}}, O_NOFOLLOW: {{{ cDefine('O_NOFOLLOW') }}},
        O_NONBLOCK: {{{ cDefine('O_NONBLOCK') }}}, O_NOCTTY: {{{ cDefine('O_NOCTTY') }}},
      };
      const access = flags & ({{{ cDefine('O_WRONLY') }}} | {{{ cDefine('O_RDWR') }}});
      let how = access; // these have the same numbers everywhere
      for (const name in names) if (flags & names[name]) how |= fs.constants[name] || 0;
      if (!follows && !fs.constants.O_NOFOLLOW) {
        const status = fs.lstatSync(path, { throwIfNoEntry: false });
        if (status && status.isSymbolicLink()) throw HOST.error("ELOOP");
      }
      const descriptor = fs.openSync(path, how, mode);
      // The system has no call that seeks: a file that is read has its position here.
      const position = access === 0 && fs.fstatSync(descriptor).isFile() ? 0 : null;
      HOST.opened.set(descriptor, { position });
      return descriptor;
    },

    // Moves bytes between the memory and a file, for each piece of a list. Returns their number.
    transfer: function(descriptor, list, count, move) {
      const file = HOST.opened.get(descriptor) || { position: null };
      if (file.entries) throw HOST.error("EISDIR");
      let moved = 0;
      for (let at = list >>> 0, end = at + count * 8; at < end; at += 8) {
        const begin = HEAPU32[at >>> 2], size = HEAPU32[(at >>> 2) + 1];
        if (size === 0) continue;
        const got = HOST.patiently(() => move(HEAPU8.subarray(begin, begin + size), size, file.position));
        if (file.position !== null) file.position += got;
        moved += got;
        if (got < size) break;
      }
      return moved;
    },

    stat: function(status, to) {
      const view = new DataView(HEAPU8.buffer, to >>> 0);
      const number = (offset, value) => view.setInt32(offset, Number(BigInt.asIntN(32, value)), true);
      number({{{ C_STRUCTS.stat.st_dev }}}, status.dev);
      number({{{ C_STRUCTS.stat.st_mode }}}, status.mode);
      number({{{ C_STRUCTS.stat.st_nlink }}}, status.nlink);
      number({{{ C_STRUCTS.stat.st_uid }}}, status.uid);
      number({{{ C_STRUCTS.stat.st_gid }}}, status.gid);
      number({{{ C_STRUCTS.stat.st_rdev }}}, status.rdev);
      view.setBigInt64({{{ C_STRUCTS.stat.st_size }}}, status.size, true);
      number({{{ C_STRUCTS.stat.st_blksize }}}, BigInt(4096));
      number({{{ C_STRUCTS.stat.st_blocks }}}, status.blocks || BigInt(0));
      number({{{ C_STRUCTS.stat.st_atim.tv_sec }}}, status.atimeNs / BigInt(1000000000));
      number({{{ C_STRUCTS.stat.st_atim.tv_nsec }}}, status.atimeNs % BigInt(1000000000));
      number({{{ C_STRUCTS.stat.st_mtim.tv_sec }}}, status.mtimeNs / BigInt(1000000000));
      number({{{ C_STRUCTS.stat.st_mtim.tv_nsec }}}, status.mtimeNs % BigInt(1000000000));
      number({{{ C_STRUCTS.stat.st_ctim.tv_sec }}}, status.ctimeNs / BigInt(1000000000));
      number({{{ C_STRUCTS.stat.st_ctim.tv_nsec }}}, status.ctimeNs % BigInt(1000000000));
      number({{{ C_STRUCTS.stat.__st_ino_truncated }}}, status.ino);
      view.setBigUint64({{{ C_STRUCTS.stat.st_ino }}}, BigInt.asUintN(64, status.ino), true);
      return 0;
    },

    readlink: function(path, to, size) {
      const text = Buffer.from(HOST.fs.readlinkSync(path)).subarray(0, size >>> 0);
      HEAPU8.set(text, to >>> 0);
      return text.length;
    },
  },

  // The environment in UTF-8, one character for each byte.
  $getEnvStrings__deps: [],
  $getEnvStrings: function() {
    return Object.entries(process.env).map(([name, value]) => Buffer.from(name + "=" + value).toString("latin1"));
  },

  __syscall_openat__deps: ["$HOST"],
  __syscall_openat: function(folder, path, flags, more) {
    return HOST.call(() => HOST.open(HOST.at(folder, path), flags, more ? HEAP32[more >>> 2] : 0));
  },
  __syscall_open__deps: ["$HOST"],
  __syscall_open: function(path, flags, more) {
    return HOST.call(() => HOST.open(HOST.at({{{ cDefine('AT_FDCWD') }}}, path), flags, more ? HEAP32[more >>> 2] : 0));
  },
  fd_close__deps: ["$HOST"],
  fd_close: function(descriptor) {
    return HOST.wasi(() => {
      const file = HOST.opened.get(descriptor);
      HOST.opened.delete(descriptor);
      if (!file || !file.entries) HOST.fs.closeSync(descriptor);
    });
  },

  fd_read__deps: ["$HOST"],
  fd_read: function(descriptor, list, count, result) {
    return HOST.wasi(() => {
      HEAPU32[result >>> 2] = HOST.transfer(descriptor, list, count, (bytes, size, position) => {
        try {
          return HOST.fs.readSync(descriptor, bytes, 0, size, position);
        } catch (error) {
          if (error.code === "EOF") return 0; // of a pipe on Windows
          throw error;
        }
      });
    });
  },
  fd_write__deps: ["$HOST"],
  fd_write__postset: "",
  fd_write: function(descriptor, list, count, result) {
    return HOST.wasi(() => {
      const captured = HOST.captured.get(descriptor);
      HEAPU32[result >>> 2] = HOST.transfer(descriptor, list, count, (bytes, size) =>
        captured ? HOST.capture(captured, bytes) : HOST.fs.writeSync(descriptor, bytes, 0, size, null));
    });
  },
  fd_seek__deps: ["$HOST"],
  fd_seek: function(descriptor, low, high, whence, result) {
    return HOST.wasi(() => {
      const file = HOST.opened.get(descriptor);
      const offset = high * 0x100000000 + (low >>> 0);
      let position = offset;
      if (file && file.entries) {
        if (offset !== 0 || whence !== {{{ cDefine('SEEK_SET') }}}) throw HOST.error("EINVAL");
        file.next = 0;
      } else {
        if (!file || file.position === null) throw HOST.error("ESPIPE");
        if (whence === {{{ cDefine('SEEK_CUR') }}}) position += file.position;
        else if (whence === {{{ cDefine('SEEK_END') }}}) position += HOST.fs.fstatSync(descriptor).size;
        else if (whence !== {{{ cDefine('SEEK_SET') }}}) throw HOST.error("EINVAL");
        if (position < 0 || position > Number.MAX_SAFE_INTEGER) throw HOST.error("EINVAL");
        file.position = position;
      }
      new DataView(HEAPU8.buffer).setBigInt64(result >>> 0, BigInt(position), true);
    });
  },
  fd_sync__deps: ["$HOST"],
  fd_sync: function(descriptor) {
    return HOST.wasi(() => HOST.fs.fsyncSync(descriptor));
  },
  fd_fdstat_get__deps: ["$HOST"],
  fd_fdstat_get: function(descriptor, result) {
    HEAPU8[(result >>> 0) + {{{ C_STRUCTS.__wasi_fdstat_t.fs_filetype }}}] = HOST.tty.isatty(descriptor)
      ? {{{ cDefine('__WASI_FILETYPE_CHARACTER_DEVICE') }}} : {{{ cDefine('__WASI_FILETYPE_REGULAR_FILE') }}};
    return 0;
  },

  __syscall_stat64__deps: ["$HOST"],
  __syscall_stat64: function(path, to) {
    return HOST.call(() => HOST.stat(HOST.fs.statSync(HOST.at({{{ cDefine('AT_FDCWD') }}}, path), { bigint: true }), to));
  },
  __syscall_lstat64__deps: ["$HOST"],
  __syscall_lstat64: function(path, to) {
    return HOST.call(() => HOST.stat(HOST.fs.lstatSync(HOST.at({{{ cDefine('AT_FDCWD') }}}, path), { bigint: true }), to));
  },
  __syscall_fstatat64__deps: ["$HOST"],
  __syscall_fstatat64: function(folder, path, to, flags) {
    return HOST.call(() => {
      const look = flags & {{{ cDefine('AT_SYMLINK_NOFOLLOW') }}} ? HOST.fs.lstatSync : HOST.fs.statSync;
      return HOST.stat(look(HOST.at(folder, path), { bigint: true }), to);
    });
  },
  __syscall_fstat64__deps: ["$HOST"],
  __syscall_fstat64: function(descriptor, to) {
    return HOST.call(() => {
      const file = HOST.opened.get(descriptor);
      if (file && file.entries) return HOST.stat(HOST.fs.statSync(file.path, { bigint: true }), to);
      try {
        return HOST.stat(HOST.fs.fstatSync(descriptor, { bigint: true }), to);
      } catch (error) {
        // Some versions of Node.js cannot look at a pipe of Windows.
        if (!HOST.isWindows || descriptor > 2 || error.code === "EBADF") throw error;
        HEAPU8.fill(0, to >>> 0, (to >>> 0) + {{{ C_STRUCTS.stat.__size__ }}});
        HEAPU32[((to >>> 0) + {{{ C_STRUCTS.stat.st_mode }}}) >>> 2] =
          HOST.tty.isatty(descriptor) ? {{{ cDefine('S_IFCHR') }}} : {{{ cDefine('S_IFIFO') }}};
        return 0;
      }
    });
  },
  __syscall_faccessat__deps: ["$HOST"],
  __syscall_faccessat: function(folder, path, mode) {
    return HOST.call(() => (HOST.fs.accessSync(HOST.at(folder, path), mode), 0));
  },

  __syscall_getdents64__deps: ["$HOST"],
  __syscall_getdents64: function(descriptor, to, size) {
    return HOST.call(() => {
      const folder = HOST.folder(descriptor);
      let at = to >>> 0;
      const room = {{{ C_STRUCTS.dirent.__size__ }}}, end = at + (size >>> 0);
      for (; folder.next < folder.entries.length && at + room <= end; at += room) {
        const entry = folder.entries[folder.next++];
        const view = new DataView(HEAPU8.buffer, at);
        view.setBigUint64({{{ C_STRUCTS.dirent.d_ino }}}, BigInt(1), true);
        view.setBigUint64({{{ C_STRUCTS.dirent.d_off }}}, BigInt(folder.next), true);
        view.setUint16({{{ C_STRUCTS.dirent.d_reclen }}}, room, true);
        // DT_DIR, DT_REG and DT_LNK; else DT_UNKNOWN, which makes the program look
        view.setUint8({{{ C_STRUCTS.dirent.d_type }}}, entry.isDirectory() ? 4 : entry.isFile() ? 8 : entry.isSymbolicLink() ? 10 : 0);
        stringToUTF8(entry.name, at + {{{ C_STRUCTS.dirent.d_name }}}, 256);
      }
      return at - (to >>> 0);
    });
  },
  __syscall_getcwd__deps: ["$HOST"],
  __syscall_getcwd: function(to, size) {
    return HOST.call(() => {
      const path = HOST.isWindows ? "/" + process.cwd().replace(/\\/g, "/") : process.cwd();
      const needed = lengthBytesUTF8(path) + 1;
      if (needed > size) throw HOST.error("ERANGE");
      stringToUTF8(path, to >>> 0, size);
      return needed;
    });
  },
  __syscall_readlink__deps: ["$HOST"],
  __syscall_readlink: function(path, to, size) {
    return HOST.call(() => HOST.readlink(HOST.at({{{ cDefine('AT_FDCWD') }}}, path), to, size));
  },
  __syscall_readlinkat__deps: ["$HOST"],
  __syscall_readlinkat: function(folder, path, to, size) {
    return HOST.call(() => HOST.readlink(HOST.at(folder, path), to, size));
  },

  __syscall_mkdirat__deps: ["$HOST"],
  __syscall_mkdirat: function(folder, path, mode) {
    return HOST.call(() => (HOST.fs.mkdirSync(HOST.at(folder, path), mode), 0));
  },
  __syscall_unlinkat__deps: ["$HOST"],
  __syscall_unlinkat: function(folder, path, flags) {
    return HOST.call(() => {
      (flags & {{{ cDefine('AT_REMOVEDIR') }}} ? HOST.fs.rmdirSync : HOST.fs.unlinkSync)(HOST.at(folder, path));
      return 0;
    });
  },
  __syscall_renameat__deps: ["$HOST"],
  __syscall_renameat: function(folder, path, newFolder, newPath) {
    return HOST.call(() => (HOST.fs.renameSync(HOST.at(folder, path), HOST.at(newFolder, newPath)), 0));
  },
  __syscall_fchmod__deps: ["$HOST"],
  __syscall_fchmod: function(descriptor, mode) {
    return HOST.call(() => (HOST.fs.fchmodSync(descriptor, mode), 0));
  },

  __syscall_fcntl64__deps: ["$HOST"],
  __syscall_fcntl64: function(descriptor, what) {
    return HOST.call(() => {
      if (!HOST.opened.has(descriptor)) HOST.fs.fstatSync(descriptor); // throws if it is not open
      if (what === {{{ cDefine('F_GETFD') }}} || what === {{{ cDefine('F_SETFD') }}}) return 0;
      throw HOST.error("EINVAL");
    });
  },
  __syscall_ioctl__deps: ["$HOST"],
  __syscall_ioctl: function(descriptor, what, more) {
    return HOST.call(() => {
      if (!HOST.tty.isatty(descriptor)) throw HOST.error("ENOTTY");
      const stream = descriptor === 1 ? process.stdout : descriptor === 2 ? process.stderr : null;
      if (what !== {{{ cDefine('TIOCGWINSZ') }}} || !stream) throw HOST.error("EINVAL");
      HEAPU16.set([stream.rows || 0, stream.columns || 0, 0, 0], HEAPU32[more >>> 2] >>> 1);
      return 0;
    });
  },
  // Reads and writes wait by themselves (HOST.patiently), so everything is always ready.
  __syscall_poll: function(list, count) {
    for (let i = 0; i < count; ++i) {
      const at = ((list >>> 0) + i * {{{ C_STRUCTS.pollfd.__size__ }}}) >>> 1;
      HEAPU16[at + {{{ C_STRUCTS.pollfd.revents }}} / 2] = HEAPU16[at + {{{ C_STRUCTS.pollfd.events }}} / 2];
    }
    return count;
  },
  // Files of Windows belong to user 0.
  __syscall_geteuid32: function() {
    return process.geteuid ? process.geteuid() : 0;
  },
});
