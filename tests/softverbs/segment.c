/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The segment of the fabric: private, reclaimed after a crash, refused when it is not ours. */
#include <fcntl.h>
#include <sys/stat.h>

#include "../../softverbs/fabric.h"
#include "soft.h"

static char dir[64], file[80];

static void set_name(const char *name)
{
	setenv("SOFTVERBS", "soft0", 1);
	setenv("SOFTVERBS_FABRIC", name, 1);
	snprintf(dir, sizeof(dir), "/dev/shm/softverbs-%u-%s", (unsigned int)geteuid(), name);
	snprintf(file, sizeof(file), "%s/fabric", dir);
}

static int run(int (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(60);
		exit(f());
	}
	return waitpid(pid, &status, 0) != pid ? -1 :
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int die_with_qps(void)
{
	struct end e;

	end_open(&e, "soft0");
	for (int i = 0; i < 100; i++)
		end_qp(&e, IBV_QPT_UD, 4);
	union ibv_gid g = { .raw = { 0xff, 1 } };

	CHECK(!ibv_attach_mcast(e.qp, &g, 0xc001));
	kill(getpid(), SIGKILL);
	return 1;
}

/* Leaves without taking anything down. */
static int leave_qps(void)
{
	static struct end e;

	end_open(&e, "soft0");
	for (int i = 0; i < 100; i++)
		end_qp(&e, IBV_QPT_UD, 4);
	return 0;
}

static int keep_open(void)
{
	struct end e;

	end_open(&e, "soft0");
	pause();
	return 0;
}

static int slots_and_qps(int want)
{
	int qps = 0, slots = 0;

	for (int i = 0; i < SV_QPNS; i++)
		qps += sv_fabric->qpn[i].owner != 0;
	for (int i = 0; i < SV_SLOTS; i++)
		slots += sv_fabric->slot[i].owner != 0;
	return qps == 0 && slots == want;
}

static int count_two(void)
{
	struct end e;

	end_open(&e, "soft0");
	CHECK(slots_and_qps(2));
	end_close(&e);
	return 0;
}

static int count(void)
{
	struct end e;
	int groups = 0;

	end_open(&e, "soft0");
	for (uint32_t i = 0; i < sv_fabric->ngroups; i++)
		groups += sv_fabric->group[i].qpn != 0;
	CHECK(slots_and_qps(1) && groups == 0);
	end_close(&e);
	return 0;
}

static void test_reclaim(void **state)
{
	struct stat st;

	(void)state;
	set_name("reclaim");
	assert_int_equal(run(die_with_qps), 128 + SIGKILL);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(run(count), 0);
	assert_int_equal(access(dir, F_OK), -1);
}

/* A process that just exits leaves nothing in the tables of those that go on. */
static void test_exit(void **state)
{
	pid_t pid;

	(void)state;
	set_name("leave");
	pid = fork();
	if (!pid) {
		alarm(60);
		exit(keep_open());
	}
	while (access(file, F_OK))
		usleep(1000);
	usleep(50000);
	assert_int_equal(run(leave_qps), 0);
	assert_int_equal(run(count_two), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(run(count), 0);
	assert_int_equal(access(dir, F_OK), -1);
}

static int refused(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int opened;

	/* One line says why; kept off the test's output. */
	CHECK(freopen("/dev/null", "w", stderr));
	opened = ibv_open_device(list[0]) != NULL;
	ibv_free_device_list(list);
	return opened;
}

static void expect_refusal(void)
{
	assert_int_equal(run(refused), 0);
	unlink(file);
	rmdir(dir);
}

static void make_file(mode_t mode, off_t size, const char *magic)
{
	int fd;

	mkdir(dir, 0700);
	fd = open(file, O_RDWR | O_CREAT, mode);
	assert_true(fd >= 0);
	fchmod(fd, mode);
	assert_int_equal(ftruncate(fd, size), 0);
	if (magic)
		assert_int_equal(pwrite(fd, magic, strlen(magic), 0), strlen(magic));
	close(fd);
}

static void test_hostile(void **state)
{
	(void)state;
	set_name("hostile");
	make_file(0644, sizeof(struct sv_fabric), "SOFTVRB\n");
	expect_refusal();
	make_file(0600, 4096, "SOFTVRB\n");
	expect_refusal();
	make_file(0600, sizeof(struct sv_fabric), "garbage");
	expect_refusal();
	/* The right magic, and no version */
	make_file(0600, sizeof(struct sv_fabric), "SOFTVRB\n");
	expect_refusal();
	mkdir(dir, 0700);
	assert_int_equal(symlink("/dev/zero", file), 0);
	expect_refusal();
	mkdir(dir, 0755);
	chmod(dir, 0755);
	expect_refusal();
	assert_int_equal(symlink("/tmp", dir), 0);
	assert_int_equal(run(refused), 0);
	unlink(dir);
	assert_int_equal(run(count), 0);	/* and all is well without them */
}

/* What the attempt to open says; its line belongs to the user, so it is part of the promise. */
static void said(char *text, size_t size)
{
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		struct ibv_device **list = ibv_get_device_list(NULL);

		alarm(60);
		dup2(fds[1], 2);
		_exit(ibv_open_device(list[0]) != NULL);
	}
	close(fds[1]);
	n = read(fds[0], text, size - 1);
	text[n > 0 ? n : 0] = 0;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Processes of a build whose structs differ hold the fabric: refused at once, in one line. */
static void test_other_layout(void **state)
{
	char text[512] = "";
	uint32_t abi;
	pid_t pid;
	int fd;

	(void)state;
	set_name("layout");
	unlink(file);		/* of a run that failed */
	pid = fork();
	if (!pid) {
		alarm(60);
		exit(keep_open());
	}
	while (access(file, F_OK))
		usleep(1000);
	usleep(50000);
	assert_int_equal(run(count_two), 0);
	fd = open(file, O_RDWR);
	assert_int_equal(pread(fd, &abi, 4, offsetof(struct sv_fabric, abi)), 4);
	abi++;
	assert_int_equal(pwrite(fd, &abi, 4, offsetof(struct sv_fabric, abi)), 4);
	said(text, sizeof(text));
	assert_non_null(strstr(text, "another build of softverbs"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	abi--;
	assert_int_equal(pwrite(fd, &abi, 4, offsetof(struct sv_fabric, abi)), 4);
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(run(count), 0);
}

static void test_bad_name(void **state)
{
	(void)state;
	setenv("SOFTVERBS_FABRIC", "../x", 1);
	assert_int_equal(run(refused), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reclaim),
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_other_layout),
		cmocka_unit_test(test_bad_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
